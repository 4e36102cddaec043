package sim

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// listen opens so many TCP ports: the first one, and those behind it; free ones if the first is 0.
func listen(first string, ports int) (doors []net.Listener, err error) {
	at, err := netip.ParseAddrPort(first)
	if err != nil || !at.Addr().Is4() || at.Addr().IsUnspecified() {
		return nil, fmt.Errorf("sim: Config.Listen = %q: must be an IPv4 address and a port, such as 127.0.0.1:7000", first)
	}
	for i := range ports {
		port := int(at.Port())
		if port > 0 {
			port += i
		}
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", at.Addr(), port))
		if err != nil {
			closeAll(doors)
			return nil, fmt.Errorf("sim: Config.Listen = %q: %w", first, err)
		}
		doors = append(doors, l)
	}
	return doors, nil
}

func closeAll(doors []net.Listener) {
	for _, l := range doors {
		_ = l.Close()
	}
}

// admit accepts TCP connections until the port is closed.
func (c *Cluster) admit(l net.Listener) {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // such as too many open files
			time.Sleep(10 * time.Millisecond)
		default:
			c.tasks.Go(func() { c.relay(conn, l.Addr().String()) })
		}
	}
}

// relay connects a TCP connection to the address by the network of the cluster, until one of the two ends.
func (c *Cluster) relay(outside net.Conn, addr string) {
	from := outside.RemoteAddr().(*net.TCPAddr).IP.String()
	inside, err := c.net.Dialer(from)(c.serving, "tcp", addr)
	if err != nil {
		reset(outside)
		return
	}
	c.tasks.Go(func() {
		_, _ = io.Copy(inside, outside)
		_ = inside.Close()
	})
	if _, err = io.Copy(outside, inside); err != nil {
		reset(outside)
	}
	_ = outside.Close()
}

// reset closes the connection so that the program gets a reset.
func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}
