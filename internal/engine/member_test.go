package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
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
			v := told(t, thirds...)
			v.sure = true
			require.NoError(t, c.admit(asPrimary, test.addr, []byte(disabled), []byte(disabled)), "no map is in use")
			c.use(c.topology.Load(), v)
			err := c.admit(asPrimary, test.addr, []byte(test.mode), []byte(test.id))
			if test.refused {
				require.ErrorIs(t, err, redislanes.ErrNotMember)
				return
			}
			require.NoError(t, err)
			c.use(c.topology.Load(), singleView("a:1"))
			require.NoError(t, c.admit(asPrimary, test.addr, []byte(disabled), []byte(disabled)))
		})
	}
}

// TestAdmitsSharedAddress: the nodes of a shard share an address, of which each pool wants
// its own.
func TestAdmitsSharedAddress(t *testing.T) {
	t.Parallel()
	at := func(addr, id string) nodeAddr { return nodeAddr{addr: addr, id: id} }
	v := newView([]slotRange{
		{0, 99, []nodeAddr{at("s:1", "p"), at("s:1", "r"), at("t:1", "q")}},
		{100, 199, []nodeAddr{at("u:1", "o"), at("u:1", "")}},
	}, nodesTold{epochs: map[string]uint64{"p": 1, "idle": 1}})
	for name, test := range map[string]struct {
		use      use
		addr, id string
		unsure   bool
		refused  bool
	}{
		"the primary":                             {asPrimary, "s:1", "p", false, false},
		"its replica":                             {asPrimary, "s:1", "r", false, true},
		"the replica, for reads":                  {asReplica, "s:1", "r", false, false},
		"the primary, for reads":                  {asReplica, "s:1", "p", false, false},
		"a node of another address":               {asReplica, "s:1", "q", false, true},
		"a replica that MOVED has named":          {asPrimary, "t:1", "q", false, false},
		"its primary at the address of a replica": {asPrimary, "t:1", "p", false, true},
		"a node without slots":                    {asPrimary, "s:1", "idle", false, true},
		"a stranger":                              {asReplica, "s:1", "x", false, true},
		"it tells no ID":                          {asPrimary, "s:1", "", false, false},
		"the map does not tell all IDs":           {asReplica, "u:1", "r", false, false},
		"the address is not in the map":           {asPrimary, "x:1", "x", false, false},
		"the map is not sure":                     {asPrimary, "s:1", "x", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := *v
			v.sure = !test.unsure
			if err := v.admits(test.use, test.addr, test.id); test.refused {
				require.ErrorIs(t, err, redislanes.ErrNotMember)
			} else {
				require.NoError(t, err)
			}
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
