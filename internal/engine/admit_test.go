package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	const ok, disabled, loading, denied = "+OK\r\n", "-ERR This instance has cluster support disabled\r\n",
		"-LOADING Redis is loading the dataset in memory\r\n", "-NOPERM this user has no permissions\r\n"
	id := func(s string) string { return "$4\r\n" + s + "\r\n" }
	for name, test := range map[string]struct {
		addr, mode, id string
		refused        bool
	}{
		"the node":                        {"a:1", ok, id("id-a"), false},
		"another node":                    {"a:1", ok, id("id-b"), true}, // a connection to it would outlive the mistake
		"a stranger":                      {"a:1", ok, id("id-x"), true},
		"a stranger at a new address":     {"x:1", ok, id("id-x"), false}, // it may have joined
		"standalone":                      {"a:1", disabled, disabled, true},
		"standalone at a new address":     {"x:1", disabled, disabled, true},
		"standalone and loading":          {"a:1", disabled, loading, true},
		"standalone, READWRITE is denied": {"a:1", denied, disabled, true},
		"loading":                         {"a:1", ok, loading, false},
		"nothing may be asked":            {"a:1", denied, denied, false},
		"no reply of that kind":           {"a:1", ":1\r\n", ":1\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(Config{}.withDefaults(), []string{"a:1"})
			v := slots.NewMap([]slots.Range{
				{First: 0, Last: 8191, Nodes: []slots.NodeAddr{{Addr: "a:1", ID: "id-a"}}},
				{First: 8192, Last: slots.Count - 1, Nodes: []slots.NodeAddr{{Addr: "b:1", ID: "id-b"}}},
			}, slots.NodesReply{Epochs: map[string]uint64{"id-a": 1, "id-b": 2}})
			v.Sure = true
			require.NoError(t, c.admit(asPrimary, test.addr, []byte(disabled), []byte(disabled)), "no map is in use")
			c.use(c.topology.Load(), v)
			err := c.admit(asPrimary, test.addr, []byte(test.mode), []byte(test.id))
			if test.refused {
				require.ErrorIs(t, err, redislanes.ErrNotMember)
				return
			}
			require.NoError(t, err)
			c.use(c.topology.Load(), slots.Single("a:1"))
			require.NoError(t, c.admit(asPrimary, test.addr, []byte(disabled), []byte(disabled)))
		})
	}
}

// TestNoIdentityAsksNothing: whatever the servers are.
func TestNoIdentityAsksNothing(t *testing.T) {
	for _, c := range []Config{{}, {Standalone: true}, {Sentinel: new(lanes.Dialer)}} {
		c.NoIdentity = true
		client := &Client{cfg: c}
		require.Equal(t, wire.Purpose{}, client.purpose(asPrimary))
		require.Equal(t, wire.Purpose{ReadOnly: c.Sentinel == nil && !c.Standalone}, client.purpose(asReplica))
	}
}
