package main

import (
	"testing"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

func TestAllowFailsOpen(t *testing.T) {
	redis := redistest.StartEmulated(t, 3)
	proxies := redistest.StartProxies(t, redis.Addrs())
	client, err := cluster.Config{AddrMap: proxies.AddrMap}.New(t.Context(), redis.Addrs())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if !allow(client, "k", 1) || allow(client, "k", 1) {
		t.Fatal("one hit must be allowed, and no second one")
	}
	for _, p := range proxies {
		p.Stall(redistest.ToServer)
	}
	if !allow(client, "k", 1) {
		t.Fatal("with Redis away, hits must be allowed")
	}
}
