package quota

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
)

func sum(all []int64) (sum int64) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// TestLeases: whatever instances hold and want, in any order, their leases are at most the limit, and in
// the end they follow the clients.
func TestLeases(t *testing.T) {
	t.Parallel()
	client, err := cluster.New(t.Context(), servers.StartServer(t, servers.Options{}).Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	limit := int64(1000)
	ask := func(key, instance string, call int64, l lease) lease {
		l.key, l.of, l.number, l.limit, l.ttl = key, instance, call, limit, time.Hour
		renew(t.Context(), client, []*lease{&l})
		require.NoError(t, l.err)
		return l
	}
	for limit = range int64(9) { // also if there are more instances
		leased := make([]int64, 5)
		for call := range int64(20) {
			for i := range leased {
				leased[i] = ask(fmt.Sprint("few", limit), fmt.Sprint(i), call, lease{want: 1000, clients: int64(i + 1)}).amount
			}
		}
		require.Equal(t, limit, sum(leased))
	}
	limit = 1000
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 5 {
		key := fmt.Sprint("round", round)
		leased := make([]int64, 4)
		var targets, wants, clients [4]int64
		for call := range int64(100) {
			i := rng.IntN(4)
			if call < 60 {
				wants[i], clients[i] = rng.Int64N(1500), 1+rng.Int64N(9)
			}
			held := min(leased[i], targets[i]) // it has given back
			l := ask(key, fmt.Sprint(i), call, lease{held: held, want: wants[i], clients: clients[i] + 1})
			leased[i], targets[i] = l.amount, l.target
			require.LessOrEqual(t, sum(leased), limit)
		}
		require.Equal(t, limit, sum(leased), "nothing is left over")
	}
	require.EqualValues(t, 10, ask("spent", "a slot", 1, lease{held: 10}).amount)
	ask("spent", "a slot", 1, lease{held: 10}) // again: it is not added
	require.EqualValues(t, 30, ask("spent", "a slot", 2, lease{held: 20}).amount)
	require.EqualValues(t, 40, ask("spent", "another slot", 1, lease{held: 40}).amount)
	require.EqualValues(t, limit-70, ask("spent", "a", 1, lease{want: limit, clients: 1}).amount)
	l := ask("spent", "b", 1, lease{want: limit, clients: 1})
	require.Zero(t, l.amount)
	require.EqualValues(t, (limit-70)/2, l.target)
	require.EqualValues(t, limit, ask("old", "a", 2, lease{want: limit, clients: 1}).amount)
	require.Zero(t, ask("old", "a", 1, lease{want: 1, clients: 1}).amount, "a call that runs late")
	require.Zero(t, ask("old", "b", 1, lease{want: limit, clients: 1}).amount)
	require.EqualValues(t, limit/2, ask("old", "a", 3, lease{want: limit, clients: 1}).amount)
	require.EqualValues(t, limit/2, ask("old", "b", 2, lease{want: limit, clients: 1}).amount)
}
