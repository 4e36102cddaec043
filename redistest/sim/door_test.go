package sim

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
)

// byTCP dials as programs in other languages do.
type byTCP struct{}

func (byTCP) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// TestListen: the nodes announce the addresses at which they listen.
func TestListen(t *testing.T) {
	c := Start(t, Config{Primaries: 2, Replicas: -1, Listen: "127.0.0.1:0"})
	client, err := cluster.Config{}.New(t.Context(), c.Addrs()[:1])
	require.NoError(t, err)
	defer client.Close()
	for _, key := range []string{here, there} {
		require.NoError(t, client.Cmd(t.Context(), "INCR", key).Err())
		value, _ := c.Value(key)
		require.Equal(t, "1", value)
	}
	require.Contains(t, dial(t, byTCP{}, c.Owner(here).Addr()).say("INCR "+there), c.Owner(there).Addr())
}

// TestFaultsByTCP: programs that connect by TCP meet the faults that others do.
func TestFaultsByTCP(t *testing.T) {
	const timeout, reset = "i/o timeout", "reset|pipe"
	for name, f := range map[string]struct {
		fault      func(n *Node, h *Host)
		open, anew string // what a command replies, by an open connection and a new one
	}{
		"none":     {func(*Node, *Host) {}, ":1", ":2"},
		"killed":   {func(n *Node, _ *Host) { n.Kill() }, "EOF|reset|pipe", reset},
		"refused":  {func(n *Node, _ *Host) { n.RefuseDials() }, ":1", reset},
		"frozen":   {func(n *Node, _ *Host) { n.Freeze() }, timeout, timeout},
		"isolated": {func(n *Node, _ *Host) { n.Isolate() }, timeout, timeout},
		"cut":      {func(n *Node, _ *Host) { n.CutReplies(1) }, reset, reset},
		"held":     {func(n *Node, h *Host) { h.HoldReplies(n) }, timeout, timeout},
		"silent":   {func(n *Node, _ *Host) { n.CutSilently() }, timeout, ":1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Start(t, Config{Listen: "127.0.0.1:0"})
			n := c.Owner(here)
			p := dial(t, byTCP{}, n.Addr())
			require.Equal(t, "+PONG", p.say("PING"), "it has passed the network")
			f.fault(n, c.Host("127.0.0.1"))
			require.Regexp(t, f.open, p.say("INCR "+here))
			require.Regexp(t, f.anew, dial(t, byTCP{}, n.Addr()).say("INCR "+here))
		})
	}
}

// TestClose: Close ends what is open, and what waits for an isolated node, with TCP and without. Dials fail.
func TestClose(t *testing.T) {
	c, err := Launch(Config{Sentinels: 1, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	p, q := dial(t, byTCP{}, c.SentinelAddrs()[0]), dial(t, byTCP{}, c.Addrs()[0])
	require.Equal(t, "+PONG", p.say("PING"))
	c.Nodes()[1].Isolate()
	r := dial(t, byTCP{}, c.Addrs()[1])
	require.NoError(t, r.SetDeadline(time.Now().Add(10*time.Millisecond)))
	require.Contains(t, r.next(), "i/o timeout")
	inside := dial(t, c, c.Addrs()[0])

	_, err = Launch(Config{Listen: c.Addrs()[0]})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	c.Close()
	for _, peer := range []*peer{p, q, r, inside} {
		require.NoError(t, peer.SetDeadline(time.Now().Add(10*time.Second)))
		require.NotContains(t, peer.next(), "i/o timeout")
	}
	_, err = c.Dial(t.Context(), "tcp", c.Addrs()[0])
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = c.doors[0].Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}
