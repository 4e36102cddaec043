package pipeline_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/pipeline"
)

// TestTimeToLiveOnce: the first hit begins the window, the others do not move it; a key
// that somebody has left without a window gets one.
func TestTimeToLiveOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{})
		for i := range 3 {
			require.EqualValues(t, 2*(i+1), w.hitOnce(t, "k", 2, time.Duration(i+1)*time.Minute))
			require.Equal(t, time.Minute, w.ttl("k"))
		}
		time.Sleep(time.Minute)
		require.EqualValues(t, 2, w.hitOnce(t, "k", 2, 1500*time.Millisecond), "the window has ended")
		require.Equal(t, 1500*time.Millisecond, w.ttl("k"))

		w.do(t, "SET", "lost", "40")
		require.EqualValues(t, 42, w.hitOnce(t, "lost", 2, time.Minute))
		require.Equal(t, time.Minute, w.ttl("lost"))
	})
}

// TestExpireEveryHit: each hit moves the key's end. A key that has one needs no SET, and a key
// that others delete has one again.
func TestExpireEveryHit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, pipeline.CountersConfig{ExpireEveryHit: true})
		for _, ttl := range []time.Duration{time.Minute, time.Hour, time.Second} {
			require.NoError(t, w.counters.Hit(within(t, 10*time.Second), []pipeline.Hit{{Key: "k", By: 1, TTL: ttl}}))
			require.Equal(t, ttl, w.ttl("k"))
		}
		require.Equal(t, []int{1, 3, 0}, []int{w.Calls(0, "SET"), w.Calls(0, "EXPIRE"), w.Calls(0, "PTTL")})
		w.do(t, "DEL", "k")
		require.EqualValues(t, 1, w.hitOnce(t, "k", 1, time.Minute))
		require.Equal(t, time.Minute, w.ttl("k"))
		require.Equal(t, 1, w.Calls(0, "SET"))
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, w.hitOnce(t, "k", 1, time.Minute))
		require.Equal(t, 2, w.Calls(0, "SET"), "what is remembered ends before the key")
	})
}

// TestNoRightToExpire: a hit that asked for a time to live is told that it was counted, and
// which rights its user needs; one that did not is given its total. Without the right to
// send SET, or EXPIRE, the key gets its time to live all the same.
func TestNoRightToExpire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		forbidden []string
		fails     bool
	}{
		{[]string{"SET"}, false}, {[]string{"PTTL"}, false}, {[]string{"EXPIRE"}, false},
		{[]string{"SET", "EXPIRE"}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newTower(t, 1, pipeline.CountersConfig{})
			for _, command := range c.forbidden {
				w.refuse(model.Refusal("NOPERM this user has no permissions to run the '"+strings.ToLower(command)+"' command"), 0, command)
			}
			first, flow := w.hold(t, &pipeline.Hit{Key: "k", Look: true})
			w.do(t, "DEL", "k")
			hits := []pipeline.Hit{{Key: "k", By: 10}, {Key: "k", By: 100, TTL: time.Minute}}
			others := w.gather(t, hits)
			flow()
			require.NoError(t, <-first)
			require.NoError(t, <-others[0])
			require.EqualValues(t, 10, hits[0].Total)
			err := <-others[1]
			if !c.fails {
				require.NoError(t, err, c.forbidden)
				require.EqualValues(t, 110, hits[1].Total)
				require.Equal(t, time.Minute, w.ttl("k"), c.forbidden)
				return
			}
			require.ErrorIs(t, err, redislanes.ErrUnknownOutcome, c.forbidden)
			require.NotErrorIs(t, err, redislanes.ErrNotSent)
			require.ErrorContains(t, err, "counted, but")
			require.ErrorContains(t, err, "SET, INCRBY, PTTL and EXPIRE")
			require.ErrorContains(t, err, "EXPIRE on")
			require.Zero(t, hits[1].Total)
		})
	}
}
