package sim

import (
	"context"
	"net"
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

// A stubbornConn ends when the world does.
type stubbornConn struct {
	net.Conn
	over <-chan struct{}
}

func (c stubbornConn) Close() error {
	<-c.over
	return c.Conn.Close()
}
