package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
