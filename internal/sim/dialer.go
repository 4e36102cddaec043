package sim

import (
	"context"
	"errors"
	"net"
	"time"
)

// A dialing is how the program's NetDial and its connections behave.
type dialing uint8

const (
	wellBehaved dialing = iota
	late                // NetDial does not end with its context
	stubborn            // Close does not return, and does not end what the connection is doing
)

func (d dialing) String() string {
	return [...]string{"well behaved", "late", "stubborn"}[d]
}

type netDial = func(ctx context.Context, network, addr string) (net.Conn, error)

// netDial returns the program's NetDial.
func (w *world) netDial() netDial {
	s := &w.settings
	dial := w.net.TimelessDialer(us, s.Refusal)
	if s.KeepsDeadlines && s.Dialing != stubborn {
		dial = w.net.Dialer(us)
	}
	dial = w.mayLinger(w.mayHang(dial))
	switch s.Dialing {
	case late:
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dial(context.WithoutCancel(ctx), network, addr)
		}
	case stubborn:
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return stubbornConn{conn, w.over}, nil
		}
	}
	return dial
}

// hangs is how long a dial hangs, whatever its context says, until it fails.
const hangs = time.Minute

var errHung = errors.New("nobody has answered")

// mayHang returns dial, or what hangs if dials do.
func (w *world) mayHang(dial netDial) netDial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if w.hanging.Load() {
			select {
			case <-w.over:
			case <-time.After(hangs):
			}
			return nil, errHung
		}
		return dial(ctx, network, addr)
	}
}

// mayLinger returns dial for connections that may take their time to end.
func (w *world) mayLinger(dial netDial) netDial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return lingeringConn{conn, w}, nil
	}
}

// A lingeringConn is no socket: what it goes through has to say that it ends.
type lingeringConn struct {
	net.Conn
	w *world
}

func (c lingeringConn) Close() error {
	if most := time.Duration(c.w.lingers.Load()); most > 0 {
		select {
		case <-c.w.over:
		case <-time.After(most):
		}
	}
	return c.Conn.Close()
}

// A stubbornConn ends when the world does.
type stubbornConn struct {
	net.Conn
	over <-chan struct{}
}

func (c stubbornConn) Close() error {
	<-c.over
	return c.Conn.Close()
}
