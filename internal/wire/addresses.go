package wire

import (
	"cmp"
	"context"
	"net"
	"time"
)

// dialerOf returns d.DialContext, but for names with several addresses. That of package net gives
// each address two seconds at least, so that a dead one may use up all the time of the dial.
func dialerOf(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil || host == "" || IsPath(addr) {
			return d.DialContext(ctx, network, addr)
		}
		ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		addrs := make([]string, 0, len(ips))
		for _, ip := range ips {
			addrs = append(addrs, net.JoinHostPort(ip.String(), port))
		}
		return dialAny(ctx, addrs, func(ctx context.Context, addr string) (net.Conn, error) {
			return d.DialContext(ctx, network, addr)
		})
	}
}

// dialAny dials the addresses one after the other, the next one when the last has failed or has
// not answered within nextAddress. It returns the first connection, or the first error.
func dialAny(ctx context.Context, addrs []string, dial func(ctx context.Context, addr string) (net.Conn, error)) (net.Conn, error) {
	if len(addrs) == 1 {
		return dial(ctx, addrs[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // it ends the other dials
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, len(addrs))
	next := time.NewTimer(0)
	defer next.Stop()
	var failed error
	for started, ended := 0, 0; ended < len(addrs); {
		select {
		case <-next.C:
			if started == len(addrs) {
				continue
			}
			go func(addr string) {
				conn, err := dial(ctx, addr)
				results <- result{conn, err}
			}(addrs[started])
			started++
			next.Reset(nextAddress)
		case r := <-results:
			if ended++; r.err == nil {
				go func() {
					for range started - ended {
						if late := <-results; late.err == nil {
							_ = late.conn.Close()
						}
					}
				}()
				return r.conn, nil
			}
			failed = cmp.Or(failed, r.err)
			next.Reset(0)
		}
	}
	return nil, failed
}
