package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// do runs a command, whose words are separated by spaces.
func do(s *Session, text string) string {
	var args [][]byte
	for word := range strings.FieldsSeq(text) {
		args = append(args, []byte(word))
	}
	reply, _ := s.Do(args)
	return string(reply)
}

// keyAt returns a key whose slot the node owns.
func keyAt(c *Cluster, n *Node) string {
	for i := 0; ; i++ {
		if key := fmt.Sprintf("key%d", i); c.Owner(Slot([]byte(key))) == n {
			return key
		}
	}
}

// A server of another kind at a node's address changes nothing of the cluster.
func TestForeignServers(t *testing.T) {
	for _, how := range []Start{{Standalone: true}, {Stranger: true}} {
		foreign := 0
		c := New(Options{Primaries: 2, Replicas: 1, Executed: func(e Execution) {
			if e.Foreign {
				foreign++
			}
		}})
		n, replica := c.Nodes()[0], c.Nodes()[2]
		key, elsewhere := keyAt(c, n), keyAt(c, c.Nodes()[1])
		require.Equal(t, ":5\r\n", do(n.NewSession(nil), "INCRBY "+key+" 5"))
		id := n.ID()
		n.Restart(how)
		s := n.NewSession(nil)
		require.Equal(t, ":1\r\n", do(s, "INCR "+key))
		require.Equal(t, ":1\r\n", do(s, "INCR "+elsewhere), "it serves all slots")
		require.Equal(t, 2, foreign)
		if how.Standalone {
			require.Equal(t, "-ERR This instance has cluster support disabled\r\n", do(s, "CLUSTER MYID"))
		} else {
			require.NotContains(t, do(s, "CLUSTER MYID"), id)
			require.Equal(t, 1, strings.Count(do(s, "CLUSTER NODES"), "connected"))
		}
		r := replica.NewSession(nil)
		require.Equal(t, "+OK\r\n", do(r, "READONLY"))
		require.Equal(t, "$1\r\n5\r\n", do(r, "GET "+key))
		_, ok := c.Value(key)
		require.False(t, ok, "nobody has it now")
		n.Restart(Start{})
		require.Equal(t, "$1\r\n5\r\n", do(n.NewSession(nil), "GET "+key))
		require.Equal(t, ":0\r\n", do(c.Nodes()[1].NewSession(nil), "EXISTS "+elsewhere))
		require.Contains(t, do(n.NewSession(nil), "CLUSTER MYID"), id)
		require.NotZero(t, c.Lost(key), "the foreign server took one write with it")
	}
}

func TestWhatNodesTell(t *testing.T) {
	c := New(Options{Primaries: 3, Replicas: 1})
	a, b := c.Nodes()[0], c.Nodes()[1]
	s := a.NewSession(nil)
	before := do(s, "CLUSTER SLOTS")
	a.Mislead(func(slot uint16, owner int) int {
		if slot < 100 {
			return -1
		}
		return b.Index()
	}, true)
	told := do(s, "CLUSTER SLOTS")
	require.True(t, strings.HasPrefix(told, "*1\r\n*4\r\n:100\r\n:16383\r\n"), told)
	require.Equal(t, "$-1\r\n", do(s, "GET "+keyAt(c, a)), "it knows better")
	require.NotContains(t, do(s, "CLUSTER NODES"), " connected 0-", "it tells of no slot that it has")
	require.Contains(t, do(s, "CLUSTER NODES"), " 1 connected 100-16383\n", "by an epoch that was")
	a.Mislead(nil, false)
	require.Equal(t, before, do(s, "CLUSTER SLOTS"))

	a.Deaf(true)
	require.True(t, c.Failover(c.Nodes()[4], false))
	require.Equal(t, before, do(s, "CLUSTER SLOTS"))
	a.Deaf(false)
	require.NotEqual(t, before, do(s, "CLUSTER SLOTS"))

	c.Unassign(0, 10)
	require.Contains(t, do(s, "CLUSTER SLOTS"), "*4\r\n:11\r\n:5460\r\n")
}
