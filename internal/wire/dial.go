package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A Purpose is what the handshake asks of a server besides what a program's Dialer
// says.
type Purpose struct {
	// ReadOnly sends READONLY, so that a replica answers reads. A server
	// without cluster mode, which refuses the command, is used all the same.
	ReadOnly bool

	// Member, if not nil, decides whether the server is the one that is meant. It
	// is given the address and the server's replies, as they came, to READWRITE
	// (READONLY if ReadOnly is set) and CLUSTER MYID, with which each handshake
	// then ends, without a round trip of their own. Its error fails the dial. It
	// is called from many goroutines.
	Member func(addr string, mode, id []byte) error

	// Role asks for ROLE instead, whose reply Member is given as the id.
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
		d.NetDial = (&net.Dialer{KeepAlive: d.KeepAlive, Control: limitUnacknowledged(d.WriteTimeout)}).DialContext
	}
	d.Limits = lanes.Limits(resp.Limits(d.Limits).WithDefaults())
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

// Dial connects to addr, host:port or the path of a unix socket, and authenticates. The context and Timeout
// bound the whole of it. A wrong password is a [redislanes.HandshakeError].
func Dial(ctx context.Context, d lanes.Dialer, addr string) (*Lane, error) {
	return DialFor(ctx, d, Purpose{}, addr, noEvents{})
}

// DialFor is Dial with a purpose, for a pool that wants to be told of the lane's
// events; nil: nobody is.
func DialFor(ctx context.Context, d lanes.Dialer, purpose Purpose, addr string, events Events) (*Lane, error) {
	lane, _, err := DialTimed(ctx, d, purpose, addr, events)
	return lane, err
}

// Steps is how long the steps of an attempt to connect took. Those that it did not
// reach, and those of one that did not end in time, are 0.
type Steps struct{ Connect, TLS, Handshake time.Duration }

// DialTimed is DialFor, and says how long its steps took.
func DialTimed(ctx context.Context, d lanes.Dialer, purpose Purpose, addr string, events Events) (*Lane, Steps, error) {
	if events == nil {
		events = noEvents{}
	}
	conn, settings, took, err := connect(ctx, d, purpose, addr)
	if err != nil {
		return nil, took, err
	}
	return newLane(addr, conn, settings, events), took, nil
}

func connect(ctx context.Context, d lanes.Dialer, purpose Purpose, addr string) (net.Conn, dialer, Steps, error) {
	if err := d.Validate(); err != nil {
		return nil, dialer{}, Steps{}, err
	}
	if err := CheckAddr(addr); err != nil {
		return nil, dialer{}, Steps{}, fmt.Errorf("lanes: the address cannot be used: %w", err)
	}
	foreign := d.NetDial != nil || d.Credentials != nil
	settings := dialer{Dialer: WithDefaults(d), Purpose: purpose}
	ctx, cancel := context.WithTimeout(ctx, settings.Timeout)
	defer cancel()
	open := settings.open
	if foreign {
		open = settings.openElsewhere
	}
	conn, took, err := open(ctx, addr)
	return conn, settings, took, err
}

// open connects and authenticates.
func (d dialer) open(ctx context.Context, addr string) (conn net.Conn, took Steps, err error) {
	if d.Credentials != nil {
		if err := d.askCredentials(ctx); err != nil {
			return nil, took, fmt.Errorf("%s: Dialer.Credentials: %w", addr, err)
		}
	}
	if conn, err = d.connect(ctx, addr, &took); err != nil {
		return nil, took, err
	}
	began := time.Now()
	err = d.handshake(ctx, addr, conn)
	took.Handshake = time.Since(began)
	if err != nil {
		discard(conn)
		return nil, took, withAddr(addr, err)
	}
	return conn, took, nil
}

// discardPatience is how long a failed dial waits for its connection to end.
const discardPatience = 10 * time.Millisecond

// discard closes a connection, and waits only so long for its end: why it is of no use
// is to be told by then.
func discard(conn net.Conn) {
	if _, ok := conn.(*net.TCPConn); ok {
		_ = conn.Close()
		return
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = conn.Close() }()
	patience := time.NewTimer(discardPatience)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
}

// openPatience is how long after the context's end open may go on to say where it
// was held up.
const openPatience = 100 * time.Millisecond

// openElsewhere is open on a goroutine of its own, for functions and connections
// of users that may not end when the context does, or not even when they are
// closed. Such a goroutine is left behind.
func (d dialer) openElsewhere(ctx context.Context, addr string) (net.Conn, Steps, error) {
	type result struct {
		conn net.Conn
		took Steps
		err  error
	}
	opened, left := make(chan result), make(chan struct{})
	defer close(left)
	go func() {
		conn, took, err := d.open(ctx, addr)
		select {
		case opened <- result{conn, took, err}:
		case <-left:
			if err == nil {
				_ = conn.Close()
			}
		}
	}()
	select {
	case r := <-opened:
		return r.conn, r.took, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-opened:
		return r.conn, r.took, r.err
	case <-time.After(openPatience):
	}
	return nil, Steps{}, fmt.Errorf("%s: Dialer.NetDial, its connection or Dialer.Credentials does not end with its context: %w", addr, ctx.Err())
}

// askCredentials calls a user's function; so do callNetDial and shakeHands.
func (d *dialer) askCredentials(ctx context.Context) (err error) {
	defer guard.Catch("Dialer.Credentials", &err)
	d.mayChange = true
	d.Username, d.Password, err = d.Credentials(context.WithValue(ctx, mayChangeKey{}, &d.mayChange))
	return err
}

func (d dialer) callNetDial(ctx context.Context, addr string) (conn net.Conn, err error) {
	defer guard.Catch("Dialer.NetDial", &err)
	conn, err = d.NetDial(ctx, network(addr), addr)
	if conn == nil && err == nil {
		err = errors.New("Dialer.NetDial returned neither a connection nor an error")
	}
	return conn, err
}

func shakeHands(ctx context.Context, conn *tls.Conn) (err error) {
	defer guard.Catch("a callback of Dialer.TLS", &err)
	return conn.HandshakeContext(ctx)
}

func (d dialer) connect(ctx context.Context, addr string, took *Steps) (net.Conn, error) {
	began := time.Now()
	conn, err := d.callNetDial(ctx, addr)
	took.Connect = time.Since(began)
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
	secure := tls.Client(belowTLS(conn), config)
	began = time.Now()
	err = shakeHands(ctx, secure)
	took.TLS = time.Since(began)
	if err != nil {
		discard(conn)
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
