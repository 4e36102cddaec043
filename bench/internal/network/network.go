// Package network puts a round trip and a bandwidth before servers.
package network

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redislanes/redislanes/bench/internal/child"
	"github.com/redislanes/redislanes/redistest"
)

// A Config is what a network is like.
type Config struct {
	Servers   []string
	RoundTrip time.Duration
	Bandwidth int // bytes a second of each connection; 0: no bound
}

// A Network is proxies in a process of their own.
type Network struct {
	*child.Process
	proxies map[string]string // by the address of the server
}

var role = child.NewRole("network", proxies)

// Start starts a network. Close ends it.
func (c Config) Start(ctx context.Context) (*Network, error) {
	p, proxies, err := role.Start(ctx, c)
	return &Network{p, proxies}, err
}

// Addrs are those of the servers, over the network.
func (n *Network) Addrs() []string { return slices.Collect(maps.Values(n.proxies)) }

// AddrMap returns the address of a server over the network.
func (n *Network) AddrMap(addr string) string {
	if proxy, ok := n.proxies[addr]; ok {
		return proxy
	}
	return addr
}

// proxies is what the process does.
func proxies(c Config) (map[string]string, error) {
	go sharpenTimers()
	all := make(map[string]string)
	for _, server := range c.Servers {
		p, err := redistest.LaunchProxy(server)
		if err != nil {
			return nil, err
		}
		for _, d := range []redistest.Direction{redistest.ToServer, redistest.ToClient} {
			p.Delay(d, c.RoundTrip/2)
			p.Throttle(d, c.Bandwidth)
		}
		all[server] = p.Addr()
	}
	return all, nil
}
