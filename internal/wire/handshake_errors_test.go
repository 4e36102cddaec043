package wire

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// What answers and is no Redis server, or wants something else of the Dialer, is
// named, and counts as a refusal: dialling again at once is of no use.
func TestHandshakeErrorsSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		d          lanes.Dialer
		answer     string
		code, want string
	}{
		{lanes.Dialer{}, "HTTP/1.1 400 Bad Request\r\n\r\n", "", `handshake: protocol error: 'H' is not a RESP type; what answers there is no Redis server`},
		{lanes.Dialer{}, "\x15\x03\x03\x00\x02\x02\x46", "", `handshake: protocol error: '\x15' is not a RESP type; the server wants TLS: set Dialer.TLS`},
		{lanes.Dialer{}, "SSH-2.0-x\r\n", "", `handshake: protocol error: 'S' is not a RESP type; what answers there is no Redis server`},
		{lanes.Dialer{}, "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n", "NOAUTH",
			`handshake: CLIENT: "NOAUTH Authentication required."; set Dialer.Password or Dialer.Credentials`},
		{lanes.Dialer{Protocol: 3}, "-NOAUTH HELLO must be called with the client already authenticated\r\n", "NOAUTH",
			`handshake: HELLO: "NOAUTH …"; set Dialer.Password or Dialer.Credentials`},
		{lanes.Dialer{}, "-ERR max number of clients reached\r\n", "ERR", `handshake: "ERR max number of clients reached"`},
		{lanes.Dialer{}, "-DENIED Redis is running in protected mode.\r\n", "DENIED", `handshake: CLIENT: "DENIED Redis is running in protected mode…"`},
		{lanes.Dialer{ClientName: "x"}, "+OK\r\n+OK\r\n-NOPERM this user\r\n", "NOPERM", `handshake: CLIENT: "NOPERM …"; the ACL user lacks the permission`},
	} {
		addr := listen(t, func(p *peer) { // all is read, so that the reply is not lost in a reset
			p.take(len(dialer{Dialer: WithDefaults(c.d)}.greetings()))
			p.send(c.answer)
		})
		_, err := Dial(within(t, patience), c.d, addr)
		require.EqualError(t, err, addr+": "+c.want)
		var refused *redislanes.HandshakeError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, c.code, refusalCode(refused))
		if refused.Command == "" && refused.Reply == "" {
			require.ErrorIs(t, err, resp.ErrProtocol)
		}
	}
}

// A server that is cut off in the middle has refused nothing, and one that hangs
// up at once may come back.
func TestBrokenHandshakeIsNoRefusal(t *testing.T) {
	for answer, want := range map[string]string{
		"":                                      "handshake: the server hung up without an answer: it wants TLS (set Dialer.TLS), is going down, or something on the way cuts connections: ",
		"-ERR unknown subcommand 'SETINFO'\r\n": "handshake: EOF",
	} {
		addr := listen(t, func(p *peer) {
			p.take(2)
			p.send(answer)
		})
		_, err := Dial(within(t, patience), lanes.Dialer{}, addr)
		require.ErrorContains(t, err, addr+": "+want)
		var refused *redislanes.HandshakeError
		require.False(t, errors.As(err, &refused), "%v", err)
	}
}

func TestTLSWhereThereIsNone(t *testing.T) {
	config := &tls.Config{InsecureSkipVerify: true} // there is nothing to verify
	for answer, want := range map[string]string{
		"-ERR unknown command\r\n":     "; the server speaks no TLS: leave Dialer.TLS out, or dial its port for TLS",
		"HTTP/1.1 400 Bad Request\r\n": "; the server speaks no TLS",
	} {
		addr := listen(t, func(p *peer) {
			_, _ = p.in.Peek(1)
			_, _ = p.in.Discard(p.in.Buffered())
			p.send(answer)
			_, _ = p.in.ReadByte()
		})
		_, err := Dial(within(t, patience), lanes.Dialer{TLS: config}, addr)
		require.ErrorContains(t, err, addr+": handshake: TLS: tls: first record does not look like a TLS handshake"+want)
		var refused *redislanes.HandshakeError
		require.ErrorAs(t, err, &refused)
	}
	silent := listen(t, func(p *peer) { _, _ = io.Copy(io.Discard, p) })
	_, err := Dial(t.Context(), lanes.Dialer{TLS: config, Timeout: 20 * time.Millisecond}, silent)
	require.ErrorContains(t, err, "TLS handshake: no answer, as from a server that speaks no TLS: ")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// The same with real servers. Those that do not know CLIENT SETINFO say so without
// a password.
func TestPasswordOfRealServer(t *testing.T) {
	secret := servers.StartServer(t, servers.Options{Password: "secret"})
	for noSetInfo, commands := range map[bool]string{false: "(CLIENT|READONLY)", true: "READONLY"} {
		_, err := DialFor(within(t, patience), lanes.Dialer{NoSetInfo: noSetInfo}, Purpose{ReadOnly: true}, secret.Addrs()[0], Owner{})
		require.ErrorContains(t, err, `"NOAUTH Authentication required."; set Dialer.Password`)
		require.Regexp(t, "handshake: "+commands+": ", err.Error())
	}
}

// TestServerWantsACertificate: the server hangs up on a client that has shown none, and a certificate whose
// key is nil panics.
func TestServerWantsACertificate(t *testing.T) {
	server := servers.StartServer(t, servers.Options{TLS: true, ClientCerts: true})
	_, port, err := net.SplitHostPort(server.Addrs()[0])
	require.NoError(t, err)
	config := server.TLSConfig()
	panics := []tls.Certificate{{Certificate: config.Certificates[0].Certificate, PrivateKey: (*rsa.PrivateKey)(nil)}}
	for want, certificates := range map[string][]tls.Certificate{
		"it wants a client certificate (set Dialer.TLS.Certificates)": nil,
		"the handshake with Dialer.TLS panicked":                      panics,
	} {
		config.Certificates = certificates
		_, err := Dial(within(t, patience), lanes.Dialer{TLS: config}, "localhost:"+port)
		require.ErrorContains(t, err, want)
	}
}

func TestTLSOfRealServer(t *testing.T) {
	secure := servers.StartServer(t, servers.Options{TLS: true})
	_, err := Dial(within(t, patience), lanes.Dialer{}, secure.Addrs()[0])
	require.ErrorContains(t, err, "Dialer.TLS")
	_, port, err := net.SplitHostPort(secure.Addrs()[0])
	require.NoError(t, err)
	l, err := Dial(within(t, patience), lanes.Dialer{TLS: secure.TLSConfig()}, "localhost:"+port)
	require.NoError(t, err)
	require.NotNil(t, l.conn.secure)
	require.NoError(t, l.Close())
}
