package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A Purpose is what the handshake asks of a server besides what a program's Dialer
// says.
type Purpose struct {
	// ReadOnly sends READONLY, so that a replica answers reads.
	ReadOnly bool

	// Admits, if not nil, decides whether the server is the one that is meant. It is given
	// the address and the server's reply, as it came, to CLUSTER MYID, with which each
	// handshake then ends, without a round trip of its own. Its error fails the dial. It is
	// called from many goroutines.
	Admits func(addr string, id []byte) error

	// Role asks for ROLE instead, with its reply as the id of Admits.
	Role bool

	// Sentinel says that a Sentinel is meant.
	Sentinel bool
}

// A dialer is a Dialer with its defaults.
type dialer struct {
	lanes.Dialer
	Purpose

	mayChange bool // the credentials: a program's function was asked for them
}

// WithDefaults returns d with its zero fields set.
func WithDefaults(d lanes.Dialer) lanes.Dialer {
	d.Protocol = cmp.Or(d.Protocol, 2)
	d.Timeout = cmp.Or(d.Timeout, defaultTimeout)
	d.MaxReply = cmp.Or(d.MaxReply, resp.DefaultMaxReply)
	if d.NetDial == nil {
		d.NetDial = (&net.Dialer{KeepAlive: defaultKeepAlive, Control: limitUnacknowledged(d.Timeout)}).DialContext
	}
	return d
}

// Sealed returns a Dialer that does the same and holds no password where fmt
// could find it: Format is not asked for a Dialer in an unexported field.
func Sealed(d lanes.Dialer) lanes.Dialer {
	if d.Credentials == nil && d.Password != "" {
		username, password := d.Username, d.Password
		d.Username, d.Password = "", ""
		d.Credentials = func(ctx context.Context) (string, string, error) {
			if mayChange, ok := ctx.Value(mayChangeKey{}).(*bool); ok {
				*mayChange = false
			}
			return username, password, nil
		}
	}
	return d
}

// mayChangeKey is the key of a *bool in the context of Dialer.Credentials, by which the
// function of [Sealed] is told from one of a program's.
type mayChangeKey struct{}

// ErrCredentials is wrapped by the HandshakeError of a server that refuses what
// Dialer.Credentials has returned: asked again, it may return others. A Username and
// Password stay wrong.
var ErrCredentials = errors.New("the server refuses what Dialer.Credentials has returned")

// DialFor connects to addr, host:port or the path of a unix socket, and authenticates. The
// context and Timeout bound the whole of it. A wrong password is a [redislanes.HandshakeError].
func DialFor(ctx context.Context, d lanes.Dialer, purpose Purpose, addr string, owner Owner) (*Lane, error) {
	conn, settings, err := connect(ctx, d, purpose, addr)
	if err != nil {
		return nil, err
	}
	return newLane(addr, conn, settings, owner), nil
}

// connect connects and authenticates.
func connect(ctx context.Context, d lanes.Dialer, purpose Purpose, addr string) (conn net.Conn, settings dialer, err error) {
	if err := CheckDialer(d); err != nil {
		return nil, settings, err
	}
	if err := CheckAddr(addr); err != nil {
		return nil, settings, fmt.Errorf("lanes: the address cannot be used: %w", err)
	}
	settings = dialer{Dialer: WithDefaults(d), Purpose: purpose}
	ctx, cancel := context.WithTimeout(ctx, settings.Timeout)
	defer cancel()
	if d.Credentials != nil {
		if err := settings.askCredentials(ctx); err != nil {
			return nil, settings, fmt.Errorf("%s: %w", addr, err)
		}
	}
	if conn, err = settings.connect(ctx, addr); err != nil {
		return nil, settings, withAddr(addr, err)
	}
	if err = settings.handshake(ctx, addr, conn); err != nil {
		_ = conn.Close()
		return nil, settings, withAddr(addr, err)
	}
	return conn, settings, nil
}

// Connect is DialFor without a lane: it returns the connection after its handshake, for radix to
// read from: see wholeConn. It keeps deadlines, and its Close does not wait.
func Connect(ctx context.Context, d lanes.Dialer, purpose Purpose, addr string) (net.Conn, error) {
	conn, settings, err := connect(ctx, d, purpose, addr)
	if err != nil {
		return nil, err
	}
	return newWholeConn(conn, settings.MaxReply), nil
}

// askCredentials calls a user's function, as netDial and shakeHands do.
func (d *dialer) askCredentials(ctx context.Context) (err error) {
	defer guard.Catch("Dialer.Credentials", &err)
	mayChange := true
	username, password, err := d.Credentials(context.WithValue(ctx, mayChangeKey{}, &mayChange))
	if err != nil {
		return fmt.Errorf("Dialer.Credentials: %w", err)
	}
	d.Username, d.Password, d.mayChange = username, password, mayChange
	return nil
}

func (d dialer) netDial(ctx context.Context, addr string) (conn net.Conn, err error) {
	defer guard.Catch("Dialer.NetDial", &err)
	conn, err = d.NetDial(ctx, network(addr), addr)
	switch {
	case err != nil:
		return nil, err
	case conn == nil:
		return nil, errors.New("Dialer.NetDial returned neither a connection nor an error")
	}
	return guardedConn(conn, d.Timeout), nil
}

func shakeHands(ctx context.Context, conn *tls.Conn) (err error) {
	defer guard.Catch("the handshake with Dialer.TLS", &err)
	return conn.HandshakeContext(ctx)
}

func (d dialer) connect(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := d.netDial(ctx, addr)
	if err != nil || d.TLS == nil {
		return conn, err
	}
	config := d.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(&tlsSocket{Conn: conn, socket: newSocket(conn)}, config)
	if err = shakeHands(ctx, secure); err != nil {
		_ = conn.Close()
		return nil, tlsFailure(err)
	}
	return secure, nil
}

// withAddr names the server, unless the error does so already.
func withAddr(addr string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil && op.Addr.String() == addr {
		return err
	}
	return fmt.Errorf("%s: %w", addr, err)
}

var (
	errAddrList = errors.New("it is a list: give each host:port by itself; cluster.ParseURL reads lists")
	errBareIPv6 = errors.New("an IPv6 address needs brackets and a port, such as [::1]:6379")
)

var errNoAddr = errors.New("want host:port, not a URL; a password goes into Dialer.Password or Credentials, " +
	"a user into Dialer.Username, TLS into Dialer.TLS; cluster.ParseURL reads URLs")

// NetAddr is a host:port, or the path of a unix socket, as a net.Addr.
type NetAddr string

// Network returns "tcp" or "unix".
func (a NetAddr) Network() string { return network(string(a)) }

func (a NetAddr) String() string { return string(a) }

// IsPath tells whether the address is the path of a unix socket.
func IsPath(addr string) bool { return strings.HasPrefix(addr, "/") }

func network(addr string) string {
	if IsPath(addr) {
		return "unix"
	}
	return "tcp"
}

// CheckAddr refuses what is not one address: a URL, which may hold a password, a list,
// and an IPv6 address without brackets. Its error does not show the address.
func CheckAddr(addr string) error {
	switch {
	case strings.Contains(addr, "://") || strings.Contains(addr, "?") || !IsPath(addr) && strings.ContainsAny(addr, "@#"):
		return errNoAddr
	case IsPath(addr):
		return nil
	case strings.Contains(addr, ","):
		return errAddrList
	case strings.Count(addr, ":") > 1 && !strings.HasPrefix(addr, "["):
		return errBareIPv6
	}
	return nil
}

// limitUnacknowledged returns a net.Dialer.Control for that, where the kernel knows it. What
// it cannot set is left as it is.
func limitUnacknowledged(writeTimeout time.Duration) func(network, addr string, raw syscall.RawConn) error {
	limit := max(longestPause, writeTimeout)
	return func(network, _ string, raw syscall.RawConn) error {
		if strings.HasPrefix(network, "tcp") {
			_ = raw.Control(func(fd uintptr) { setUserTimeout(fd, limit) })
		}
		return nil
	}
}
