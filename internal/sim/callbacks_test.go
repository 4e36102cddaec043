package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// misbehaviour returns in which of a hundred calls of the function the user does
// something, and how long they take.
func misbehaviour(t *testing.T, seed uint64, m mood, c callback) (which []int, took time.Duration) {
	synctest.Test(t, func(*testing.T) {
		u := &user{seed: seed}
		u.mood.Store(int32(m))
		began := time.Now()
		for i := range 100 {
			func() {
				before := time.Now()
				defer func() {
					if recover() != nil || time.Since(before) > 0 {
						which = append(which, i)
					}
				}()
				u.behave(c)
			}()
		}
		took = time.Since(began)
	})
	return which, took
}

func TestMoods(t *testing.T) {
	for c := range callbacks {
		for m, often := range map[mood]int{well: 0, reentrant: 0, slow: 25, panicking: 12, wild: 12} {
			which, took := misbehaviour(t, 1, m, c)
			require.InDelta(t, often, len(which), 10, "mood %d, callback %d", m, c)
			again, _ := misbehaviour(t, 1, m, c)
			require.Equal(t, which, again)
			switch m {
			case slow:
				require.Equal(t, time.Duration(len(which))*slowness, took)
			case well, panicking, reentrant: // without a client
				require.Zero(t, took)
			}
			if often > 0 {
				other, _ := misbehaviour(t, 2, m, c)
				require.NotEqual(t, which, other, "the seed chooses")
				other, _ = misbehaviour(t, 1, m, (c+1)%callbacks)
				require.NotEqual(t, which, other, "each function has its own row")
			}
		}
	}
}

// A function that calls the client is called by it, and calls it no more.
func TestReentranceEnds(t *testing.T) {
	schedule := Schedule{Busy: []Span{{0, length}}}
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			settings := choose(seed)
			settings.Unset, settings.Dialing = false, wellBehaved
			w := &world{seed: seed, settings: settings, schedule: schedule}
			w.rec.begin()
			w.build()
			defer w.net.Close()
			w.user.mood.Store(int32(reentrant))
			require.NoError(t, w.connect())
			for range 200 {
				for c := range callbacks {
					w.user.behave(c)
				}
			}
			w.user.mood.Store(int32(well))
			time.Sleep(2 * reentry)
			require.Zero(t, w.user.inside.Load())
			require.NoError(t, w.counters.Close())
			require.NoError(t, w.client.Close())
			time.Sleep(healing)
		})
	}
}
