package model

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Slots move with their keys, and not to a replica.
func TestMoveSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Primaries: 2, Replicas: 1})
		c.GossipLag(time.Second)
		a, b, ra := c.Nodes()[0], c.Nodes()[1], c.Nodes()[2]
		key := keyAt(c, a)
		slots := c.SlotsOf(a)
		require.Equal(t, ":5\r\n", do(a.NewSession(nil), "INCRBY "+key+" 5"))
		c.MoveSlots(slots, ra)
		require.Same(t, a, c.Owner(slots[0]))
		c.MoveSlots(slots, b)
		require.Empty(t, c.SlotsOf(a))
		require.Len(t, c.SlotsOf(b), SlotCount)
		require.Contains(t, do(a.NewSession(nil), "GET "+key), "-MOVED")
		require.Equal(t, "$1\r\n5\r\n", do(b.NewSession(nil), "GET "+key))
		require.Contains(t, do(ra.NewSession(nil), "GET "+key), a.Addr(), "has not heard of it")
		require.False(t, c.Lost(key))
		require.NotContains(t, do(b.NewSession(nil), "CLUSTER SLOTS"), a.ID(), "it has none")
	})
}

// Each node tells of replicas in an order of its own, and a stranger by an epoch of its own.
func TestNodesDiffer(t *testing.T) {
	c := New(Options{Primaries: 2, Replicas: 2})
	a, b := c.Nodes()[0], c.Nodes()[1]
	say := func(n *Node) string { return do(n.NewSession(nil), "CLUSTER SLOTS") }
	require.Len(t, say(b), len(say(a)))
	require.NotEqual(t, say(a), say(b))
	a.Restart(Start{Stranger: true, Epoch: 1000})
	require.Contains(t, do(a.NewSession(nil), "CLUSTER NODES"), " 1001 connected 0-16383\n")
	c.GossipLag(time.Second)
	a.Restart(Start{})
	require.Contains(t, do(a.NewSession(nil), "CLUSTER NODES"), " connected 0-8191\n", "it is what it was")
}
