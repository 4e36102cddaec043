package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/pipeline"
)

// TestExpireIsSentOnce: a key that is known to have its time to live is not sent it
// again, and one that was deleted meanwhile is.
func TestExpireIsSentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		for i := range 100 {
			require.EqualValues(t, i+1, w.hitOnce(t, "k", 1, time.Hour))
		}
		require.Equal(t, 1, w.Calls(0, "SET"))
		require.Equal(t, 1, w.Calls(0, "PTTL"))
		require.Zero(t, w.Calls(0, "EXPIRE"))

		for i, by := range []int64{1, -3} {
			w.do(t, "DEL", "k")
			require.Equal(t, by, w.hitOnce(t, "k", by, time.Hour))
			require.Equal(t, time.Hour, w.ttl("k"))
			require.Equal(t, 1+i, w.Calls(0, "EXPIRE"))
			w.hitOnce(t, "k", 1, time.Hour)
			require.Equal(t, 1, w.Calls(0, "SET"), "it is known again")
		}

		w.do(t, "DEL", "k")
		w.hitOnce(t, "k", 1, 0)
		require.Zero(t, w.ttl("k"))
		w.hitOnce(t, "k", 1, time.Hour)
		require.Equal(t, time.Hour, w.ttl("k"), "the hit that made the key gave it none")

		w.do(t, "SET", "zero", "0", "EX", "600")
		w.hitOnce(t, "zero", 1, time.Hour)
		w.do(t, "DECR", "zero")
		require.EqualValues(t, 1, w.hitOnce(t, "zero", 1, time.Hour))
		require.Equal(t, 10*time.Minute, w.ttl("zero"), "another program has brought it to 0")

		before := w.Calls(0, "SET")
		w.hitOnce(t, "short", 1, 15*time.Millisecond)
		w.hitOnce(t, "short", 1, 15*time.Millisecond)
		require.Equal(t, before+2, w.Calls(0, "SET"), "it may have expired between two hits")
	})
}

// TestLateHitExpires: a hit that the server gets after the client has given it up does not
// leave its key without a time to live. If the key was known to have one and somebody deleted it,
// the next hit sets the time to live.
func TestLateHitExpires(t *testing.T) {
	t.Parallel()
	for _, every := range []bool{false, true} {
		for _, known := range []bool{false, true} {
			inTower(t, 1, pipeline.CountersConfig{ExpireEveryHit: every}, func(t *testing.T, w *tower) {
				if known {
					w.hitOnce(t, "k", 1, time.Hour)
					w.do(t, "DEL", "k")
				}
				flow := w.stall(0, toServer)
				hit := pipeline.Hit{Key: "k", TTL: time.Hour}
				require.ErrorIs(t, <-w.hit(within(t, 100*time.Millisecond), &hit), redislanes.ErrUnknownOutcome)
				flow()
				synctest.Wait()
				value, _ := w.Value("k")
				require.Equal(t, "1", value, "it was late")
				if known {
					require.EqualValues(t, 2, w.hitOnce(t, "k", 1, time.Hour))
				}
				require.Equal(t, time.Hour, w.ttl("k").Round(time.Minute))
			})
		}
	}
}
