package lanes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
)

// Version is the version of the library, as CLIENT SETINFO reports it.
const Version = "0.1.0"

// A Dialer makes lanes. The zero value dials plain TCP without a password. It
// is a plain value: copy it, and do not change it while it is in use.
type Dialer struct {
	// Username and Password authenticate each connection. A Password alone is
	// that of the default user; a Username is an ACL user (Redis 6 or newer).
	Username, Password string

	// Credentials, if not nil, is asked for them on every dial instead, so that
	// a password can change while the program runs. It is called from many
	// goroutines. Its error fails the dial.
	Credentials func(ctx context.Context) (username, password string, err error)

	// TLS, if not nil, is used for every connection. An empty ServerName is
	// set to the host that is dialled.
	TLS *tls.Config

	// Protocol is the RESP version, 2 or 3; 3 needs Redis 6. Default 2, in
	// which radix's types decode as they do with radix's own connections.
	Protocol int

	// ClientName is set with CLIENT SETNAME unless it is empty.
	ClientName string

	// ReadOnly sends READONLY, so that a replica answers reads. A server
	// without cluster mode, which refuses the command, is used all the same.
	ReadOnly bool

	// Timeout bounds connecting, the TLS handshake and authentication
	// together. Default 5 s.
	Timeout time.Duration

	// WriteTimeout is how long the socket may refuse to accept bytes before
	// the lane is closed. Default 5 s.
	WriteTimeout time.Duration

	// KeepAlive is the interval of TCP keep-alive probes; negative for none.
	// Default 15 s.
	KeepAlive time.Duration

	// Limits bound what a reply may cost; zero fields take their defaults.
	Limits Limits

	// Member, if not nil, decides whether the server is the one that is meant. It
	// is given the address and the server's replies, as they came, to READWRITE
	// (READONLY if ReadOnly is set) and CLUSTER MYID, with which each handshake
	// then ends, without a round trip of their own. Its error fails the dial. It
	// is called from many goroutines. A cluster.Client sets it.
	Member func(addr string, mode, id []byte) error

	// NetDial, if not nil, makes the connections instead of net.Dialer, with
	// "tcp" as the network. The deadlines of what it returns are not relied on,
	// unless NetDialKeepsDeadlines is set or that is a *net.TCPConn, a *net.UnixConn
	// or TLS over one of them: one goroutine for each connection then does all
	// reading, which costs a call that is alone on its connection some microseconds.
	NetDial func(ctx context.Context, network, addr string) (net.Conn, error)

	// NetDialKeepsDeadlines says that the connections of NetDial keep read deadlines
	// as those of package net do: one that is set ends the read that is going on,
	// with an error that is os.ErrDeadlineExceeded, and another one lets reads go
	// on. So do wrappers that pass SetReadDeadline and errors of Read on to TCP.
	// Where it is not true, callers come back after their contexts' ends.
	NetDialKeepsDeadlines bool
}

// Limits bound one reply of a server: bytes of a bulk string (default 512
// MiB), elements of an aggregate (16 Mi), bytes of a line (64 KiB), bytes in
// all (1 GiB), depth of nesting (1,024, at most 4,096) and attributes (1 Mi). A
// server that exceeds one has its lane closed, but for the last two: such a reply
// is read to its end and dropped, and its command, which ran, ends with an error
// reply that begins with TOODEEP or TOOMANY. Attributes are not decoded.
type Limits = resp.Limits

// WithDefaults returns d with its zero fields set.
func (d Dialer) WithDefaults() Dialer {
	if d.Protocol == 0 {
		d.Protocol = 2
	}
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{{&d.Timeout, 5 * time.Second}, {&d.WriteTimeout, 5 * time.Second}, {&d.KeepAlive, 15 * time.Second}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if d.NetDial == nil {
		d.NetDial = (&net.Dialer{KeepAlive: d.KeepAlive}).DialContext
	}
	d.Limits = d.Limits.WithDefaults()
	return d
}

// Sealed returns a Dialer that does the same and holds no password where fmt
// could find it: Format is not asked for a Dialer in an unexported field.
func (d Dialer) Sealed() Dialer {
	if d.Credentials == nil && d.Password != "" {
		username, password := d.Username, d.Password
		d.Username, d.Password = "", ""
		d.Credentials = func(context.Context) (string, string, error) { return username, password, nil }
	}
	return d
}

// Validate returns an error that names the first field that cannot be used.
func (d Dialer) Validate() error {
	switch {
	case d.Protocol != 0 && d.Protocol != 2 && d.Protocol != 3:
		return fmt.Errorf("lanes: Dialer.Protocol = %d: must be 2 or 3", d.Protocol)
	case d.Timeout < 0:
		return fmt.Errorf("lanes: Dialer.Timeout = %v: must not be negative", d.Timeout)
	case d.WriteTimeout < 0:
		return fmt.Errorf("lanes: Dialer.WriteTimeout = %v: must not be negative", d.WriteTimeout)
	case d.Credentials != nil && d.Username+d.Password != "":
		return fmt.Errorf("lanes: Dialer.Credentials besides a Username or Password: set one of them")
	case d.Username != "" && d.Password == "":
		return fmt.Errorf("lanes: Dialer.Username = %q without a Password", d.Username)
	}
	if err := d.Limits.Validate(); err != nil {
		return fmt.Errorf("lanes: Dialer.%w", err)
	}
	return nil
}

// String describes the Dialer without its password.
func (d Dialer) String() string {
	return fmt.Sprintf("lanes.Dialer{Username: %q, Password: %v, TLS: %v, Protocol: %d}",
		d.Username, redacted(d.Password), d.TLS != nil, d.WithDefaults().Protocol)
}

// GoString is String, so that %#v shows no password either.
func (d Dialer) GoString() string { return d.String() }

// Format prints String for every verb; fmt would print the fields for %d.
func (d Dialer) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, d.String()) }

func redacted(secret string) string {
	if secret == "" {
		return "none"
	}
	return "set"
}

// Dial connects to addr, host:port, and authenticates. The context and Timeout
// bound the whole of it. A wrong password is a [redislanes.HandshakeError].
func (d Dialer) Dial(ctx context.Context, addr string) (*Lane, error) {
	return d.DialFor(ctx, addr, noEvents{})
}

// DialFor is Dial for a pool that wants to be told of the lane's events.
func (d Dialer) DialFor(ctx context.Context, addr string, events Events) (*Lane, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if err := CheckAddr(addr); err != nil {
		return nil, fmt.Errorf("lanes: the address cannot be used: %w", err)
	}
	foreign := d.NetDial != nil || d.Credentials != nil
	d = d.WithDefaults()
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	open := d.open
	if foreign {
		open = d.openElsewhere
	}
	conn, err := open(ctx, addr)
	if err != nil {
		return nil, err
	}
	return newLane(addr, conn, d, events), nil
}

// open connects and authenticates.
func (d Dialer) open(ctx context.Context, addr string) (net.Conn, error) {
	if d.Credentials != nil {
		if err := d.askCredentials(ctx); err != nil {
			return nil, fmt.Errorf("%s: Dialer.Credentials: %w", addr, err)
		}
	}
	conn, err := d.connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	if err := d.handshake(ctx, addr, conn); err != nil {
		_ = conn.Close()
		return nil, withAddr(addr, err)
	}
	return conn, nil
}

// openPatience is how long after the context's end open may go on to say where it
// was held up.
const openPatience = 100 * time.Millisecond

// openElsewhere is open on a goroutine of its own, for functions and connections
// of users that may not end when the context does, or not even when they are
// closed. Such a goroutine is left behind.
func (d Dialer) openElsewhere(ctx context.Context, addr string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	opened, left := make(chan result), make(chan struct{})
	defer close(left)
	go func() {
		conn, err := d.open(ctx, addr)
		select {
		case opened <- result{conn, err}:
		case <-left:
			if err == nil {
				_ = conn.Close()
			}
		}
	}()
	select {
	case r := <-opened:
		return r.conn, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-opened:
		return r.conn, r.err
	case <-time.After(openPatience):
	}
	return nil, fmt.Errorf("%s: Dialer.NetDial, its connection or Dialer.Credentials does not end with its context: %w", addr, ctx.Err())
}

// askCredentials calls a user's function; so do callNetDial and shakeHands.
func (d *Dialer) askCredentials(ctx context.Context) (err error) {
	defer guard.Catch("Dialer.Credentials", &err)
	d.Username, d.Password, err = d.Credentials(ctx)
	return err
}

func (d Dialer) callNetDial(ctx context.Context, addr string) (conn net.Conn, err error) {
	defer guard.Catch("Dialer.NetDial", &err)
	conn, err = d.NetDial(ctx, "tcp", addr)
	if conn == nil && err == nil {
		err = errors.New("Dialer.NetDial returned neither a connection nor an error")
	}
	return conn, err
}

func shakeHands(ctx context.Context, conn *tls.Conn) (err error) {
	defer guard.Catch("a callback of Dialer.TLS", &err)
	return conn.HandshakeContext(ctx)
}

func (d Dialer) connect(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := d.callNetDial(ctx, addr)
	if err != nil {
		return nil, withAddr(addr, err)
	}
	if d.TLS == nil {
		return conn, nil
	}
	config := d.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(conn, config)
	if err := shakeHands(ctx, secure); err != nil {
		_ = conn.Close()
		return nil, withAddr(addr, tlsFailure(err))
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

type noEvents struct{}

func (noEvents) Answered(*Lane) {}
func (noEvents) Closed(*Lane)   {}
