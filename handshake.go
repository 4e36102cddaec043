package redislanes

import (
	"strconv"
	"strings"
)

// A HandshakeError says that a server will not do as it is: it has refused a
// command with which a connection begins (a wrong password, too many clients), or
// it is no Redis server, or speaks TLS and the lanes.Dialer does not. It holds no
// credentials.
//
// A refusal that may end soon (BUSY, LOADING, MASTERDOWN, too many clients, a text that no
// server sends) is waited for: the connection is dialled again with backoff, commands go
// again within cluster.Config.DownGrace, and cluster.Config.New waits. Any other one is final.
type HandshakeError struct {
	Command string // that was refused, such as AUTH; "" if the server refuses whatever comes, or is none of Redis
	Reply   string // the server's error, quoted; "" if that is not the reason
	Hint    string // what is probably wrong and what to do about it; may be ""
	Cause   error  // what was wrong with what the server sent, if that is the reason, or with what Dialer.Credentials returned
}

func (e *HandshakeError) Error() string {
	parts := []string{"handshake"}
	if e.Command != "" {
		parts = append(parts, e.Command)
	}
	switch {
	case e.Reply != "":
		parts = append(parts, e.Reply)
	case e.Cause != nil:
		parts = append(parts, e.Cause.Error())
	}
	text := strings.Join(parts, ": ")
	switch {
	case e.Hint == "":
		return text
	case e.Reply == "" && e.Cause == nil:
		return text + ": " + e.Hint
	}
	return text + "; " + e.Hint
}

// Unwrap returns Cause.
func (e *HandshakeError) Unwrap() error { return e.Cause }

// Code returns the first word of the server's error, such as NOAUTH, WRONGPASS,
// NOPERM, LOADING or ERR; "" if there is none.
func (e *HandshakeError) Code() string {
	text, _ := strconv.Unquote(e.Reply)
	code, _, _ := strings.Cut(text, " ")
	return code
}
