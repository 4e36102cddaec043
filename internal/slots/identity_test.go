package slots

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// TestAdmitsSharedAddress: the nodes of a shard share an address, of which each pool wants
// its own.
func TestAdmitsSharedAddress(t *testing.T) {
	t.Parallel()
	at := func(addr, id string) NodeAddr { return NodeAddr{Addr: addr, ID: id} }
	v := NewMap([]Range{
		{First: 0, Last: 99, Nodes: []NodeAddr{at("s:1", "p"), at("s:1", "r"), at("t:1", "q")}},
		{First: 100, Last: 199, Nodes: []NodeAddr{at("u:1", "o"), at("u:1", "")}},
	}, map[string]uint64{"p": 1, "idle": 1}, "")
	for name, test := range map[string]struct {
		primary  bool
		addr, id string
		unsure   bool
		refused  bool
	}{
		"the primary":                             {true, "s:1", "p", false, false},
		"its replica":                             {true, "s:1", "r", false, true},
		"the replica, for reads":                  {false, "s:1", "r", false, false},
		"the primary, for reads":                  {false, "s:1", "p", false, false},
		"a node of another address":               {false, "s:1", "q", false, true},
		"a replica that MOVED has named":          {true, "t:1", "q", false, false},
		"its primary at the address of a replica": {true, "t:1", "p", false, true},
		"a node without slots":                    {true, "s:1", "idle", false, true},
		"a stranger":                              {false, "s:1", "x", false, true},
		"it tells no ID":                          {true, "s:1", "", false, false},
		"the map does not tell all IDs":           {false, "u:1", "r", false, false},
		"the address is not in the map":           {true, "x:1", "x", false, false},
		"the map is not sure":                     {true, "s:1", "x", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := *v
			v.sure = !test.unsure
			if err := v.Admits(test.primary, test.addr, test.id); test.refused {
				require.ErrorIs(t, err, redislanes.ErrWrongServer)
			} else {
				require.NoError(t, err)
			}
		})
	}
}
