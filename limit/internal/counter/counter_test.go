package counter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit/internal/counter"
)

func TestFirst(t *testing.T) {
	onServers(t, func(t *testing.T, r *rig) {
		var s counter.Server
		for i := range 6 {
			take := fixed("k", 2, 7)
			rounds := r.take(&s, &take)
			t.Log(i, rounds, take.Applied, take.Total, take.Err, r.ran())
			require.NoError(t, take.Err)
			require.Equal(t, i < 3, take.Applied)
		}
		for i := range 6 {
			take := sliding("k", 2, 7)
			rounds := r.take(&s, &take)
			t.Log(i, rounds, take.Applied, take.Total, take.Err, r.ran())
			require.NoError(t, take.Err)
			require.Equal(t, i < 3, take.Applied)
		}
		known := sliding("k2", 2, 1000)
		for i := range 6 {
			rounds := r.take(&s, &known)
			t.Log(i, rounds, known.Applied, known.Total, known.Err, r.ran())
			require.NoError(t, known.Err)
		}
	})
}
