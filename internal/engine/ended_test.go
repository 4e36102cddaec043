package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/redistest"
)

// TestEndedIsToldOfEachNode: Ended knows the replies of each node while another one is slow,
// also those of commands that are sent again, and is told of no command twice.
func TestEndedIsToldOfEachNode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		moved bool // a command of the fast node has to go to a third one
	}{{"at once", false}, {"with a redirect", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 3)
			proxies := redistest.StartProxies(t, e.Addrs())
			client, err := Config{RefreshEvery: -1, AddrMap: proxies.AddrMap}.New(t.Context(), e.Addrs())
			require.NoError(t, err)
			defer client.Close()
			keys := make([]string, 3) // two of node 0, and one of node 1
			for i, slot := range []uint16{1, 2, 8000} {
				keys[i] = redistest.KeyInSlot(slot, "ended")
				require.Equal(t, i/2, e.Owner(slots.Of(keys[i])))
			}
			if c.moved {
				e.Move(2, 2)
			}
			slow := proxies[e.Addrs()[1]]
			slow.Stall(redistest.ToClient)
			r, told := hits(keys), make([]int, len(keys))
			r.renew()
			r.Early()
			require.NoError(t, client.Exec(t.Context(), r, How{Ended: func(commands []int) {
				for _, i := range commands {
					told[i]++
					reply, err := r.Reply(i)
					require.NoError(t, err)
					require.Equal(t, ":1\r\n", string(reply))
				}
				if told[0] == 1 && told[1] == 1 && told[2] == 0 {
					slow.Flow(redistest.ToClient)
				}
			}}))
			require.Equal(t, []int{1, 1}, told[:2], "while the other node is slow")
			require.LessOrEqual(t, told[2], 1)
			reply, err := r.Reply(2)
			require.NoError(t, err)
			require.Equal(t, ":1\r\n", string(reply))
		})
	}
}
