package counter_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit/internal/counter"
)

// TestRights: a user needs the rights that docs/limits.md lists. INCREX is optional. Where the user has it, the
// hits of fixed windows need no other.
func TestRights(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		const all = "+get +set +incrby +pttl +expire +evalsha +eval"
		rights := map[string]bool{all: false} // whether fixed windows only
		if r.has {
			rights[all+" +increx"] = false
			rights["+increx"] = true
		}
		for some, fixedOnly := range rights {
			r.cmd("ACL", "SETUSER", "counter", "reset", "on", ">pw", "~*", "+ping", "+cluster|slots")
			for _, right := range strings.Fields(some) {
				r.cmd("ACL", "SETUSER", "counter", right)
			}
			client, err := cluster.Config{Dialer: lanes.Dialer{NoSetInfo: true, Username: "counter", Password: "pw"}}.New(t.Context(), []string{r.addr})
			require.NoError(t, err)
			user := &rig{t: t, client: client}
			var s counter.Server
			for _, c := range scenes {
				if fixedOnly && (c.take.Before != "" || c.take.N <= 0) {
					continue
				}
				c.set(r)
				take := c.take
				user.take(&s, &take)
				require.NoError(t, take.Err, "%s: %s", some, c.name)
				require.Equal(t, c.applied, take.Applied, "%s: %s", some, c.name)
			}
			require.NoError(t, client.Close())
		}
	})
}
