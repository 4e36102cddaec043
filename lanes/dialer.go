package lanes

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// Version is the version of the library, as CLIENT SETINFO reports it.
const Version = "0.1.0"

// A Dialer makes lanes. The zero value dials plain TCP without a password. It
// is a plain value: copy it, and do not change it while it is in use.
type Dialer struct {
	// Username and Password authenticate each connection. A Password alone is
	// that of the default user; a Username is an ACL user (Redis 6 or newer) and needs a Password.
	Username, Password string

	// Credentials, if not nil, returns the username and password for each dial. The fields above
	// must then be empty. So a password can change while the program runs. Its error fails the
	// dial. Credentials must be safe for concurrent use by many goroutines. Its context ends after
	// Timeout, and it must return then.
	//
	// If a server refuses the credentials (WRONGPASS, NOAUTH, an expired token), the client
	// calls it again. New does so until its context ends. Commands are retried within
	// cluster.Config.RetryWindow. In contrast, the refusal of a fixed Password is final. For tokens
	// that end, also set MaxAge in pool.Options.
	Credentials func(ctx context.Context) (username, password string, err error)

	// TLS, if not nil, is used for every connection. An empty ServerName is
	// set to the host that is dialled.
	TLS *tls.Config

	// Protocol is the RESP version, 2 or 3; 3 needs Redis 6. Default 2, in
	// which radix's types decode as they do with radix's own connections.
	Protocol int

	// Database is the number of the database that each connection selects. Default 0. A Redis
	// Cluster has only 0 and refuses others (Valkey has more from version 9 on).
	Database int

	// ClientName is set with CLIENT SETNAME unless it is empty.
	ClientName string

	// NoSetInfo leaves out CLIENT SETINFO, which tells the server the library's name and
	// version. Set it for proxies that hang up on unknown commands. A server that refuses
	// CLIENT SETINFO is used all the same.
	NoSetInfo bool

	// Timeout bounds Credentials, connecting, the TLS handshake and authentication
	// together. It is also how long the socket may refuse to accept bytes before the
	// connection is closed. Default 5 s, at least 1 ms.
	//
	// On Linux, without NetDial, TCP_USER_TIMEOUT is Timeout, but at least 10 s. The
	// connection ends if the server's kernel acknowledges no bytes and no probes for that long, or
	// has no room for more bytes. The kernel of a paused server acknowledges while it has room.
	Timeout time.Duration

	// MaxReply is how many bytes a reply may have. A larger one closes its connection, and so does
	// one that is nested more than 1,024 deep: the outcome of its command is unknown. Default 1 GiB,
	// at most 64 GiB.
	MaxReply int64

	// NetDial, if not nil, makes the connections instead of net.Dialer. The network is "tcp",
	// or "unix" for the path of a socket. Set TLS for TLS; do not make it in NetDial.
	// NetDial must be safe for concurrent use by many goroutines. Its context ends after Timeout,
	// which includes the time of Credentials, and it must return then.
	//
	// A connection that is no *net.TCPConn or *net.UnixConn is written by a goroutine of its
	// own, which costs each call some microseconds. It is closed if a Write takes longer than
	// Timeout, or panics. Its Close must end its Read and Write, and must not wait. If its
	// SetReadDeadline returns an error, as over SSH, a goroutine reads, too.
	NetDial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Format describes the Dialer without its password, for every verb of package fmt.
func (d Dialer) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "lanes.Dialer{Username: %q, Password: %v, TLS: %v, Protocol: %d}",
		d.Username, redacted(d.Password), d.TLS != nil, cmp.Or(d.Protocol, 2))
}

func redacted(secret string) string {
	if secret == "" {
		return "none"
	}
	return "set"
}
