package pipeline_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
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

// TestRefusedKeyIsNotKnown: a hit that was refused says nothing about the next one.
func TestRefusedKeyIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, refused := range [][]string{{"INCRBY"}, {"SET", "INCRBY"}} {
		synctest.Test(t, func(t *testing.T) {
			w := newTower(t, 1, pipeline.CountersConfig{})
			w.refuse(model.OutOfSpace, 0, refused...)
			require.ErrorContains(t, w.counters.Hit(within(t, 10*time.Second), []pipeline.Hit{{Key: "k", By: 1, TTL: time.Hour}}), "OOM")
			w.refuse("", 0, refused...)
			w.do(t, "DEL", "k")
			w.do(t, "INCRBY", "k", "40") // without a time to live
			w.hitOnce(t, "k", 2, time.Hour)
			require.Equal(t, time.Hour, w.ttl("k"), refused)
		})
	}
}

// TestNewPrimaryIsSentExpire: what is known of a key at one node is not believed of
// another, to which its time to live may not have been replicated.
func TestNewPrimaryIsSentExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 2, pipeline.CountersConfig{})
		key := redistest.KeysInSlots(2, "moves")[0]
		for i := range 6 {
			w.hitOnce(t, key, 1, time.Hour)
			w.move(key, (i+1)%2)
			w.do(t, "SET", key, strconv.Itoa(2*i+1)) // without a time to live
			require.EqualValues(t, 2*(i+1), w.hitOnce(t, key, 1, time.Hour))
			require.Equal(t, time.Hour, w.ttl(key))
		}
	})
}

// TestLooksTakeOneTrip: a key that is at 0 looks to a hit which adds nothing as if it
// had not been there. What is about its time to live goes along each time, and not behind it.
func TestLooksTakeOneTrip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		before := w.Requests()
		for i := range 10 {
			require.Zero(t, w.hitOnce(t, "k", 0, time.Hour))
			require.Equal(t, time.Hour, w.ttl("k"))
			require.Equal(t, before+i+1, w.Requests())
		}
		for i := range 10 {
			require.EqualValues(t, i+1, w.hitOnce(t, "k", 1, time.Hour))
			require.EqualValues(t, i+1, w.hitOnce(t, "k", 0, time.Hour))
			require.Equal(t, before+10+2*(i+1), w.Requests())
		}
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
