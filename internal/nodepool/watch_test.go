package nodepool

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// A moment is a look, or what happens before it.
type moment struct {
	passed, waited time.Duration
	event          func(w *watch)
	want           verdict
	stage          stage
}

func heard(w *watch)    { w.heard() }
func answered(w *watch) { w.answered() }

func TestWatch(t *testing.T) {
	ask, suspected, stalled := verdict{ask: true}, verdict{ask: true, suspect: true}, verdict{ask: true, stalled: true}
	for name, c := range map[string]struct {
		usual   time.Duration
		moments []moment
	}{
		"nothing is in flight": {0, []moment{{passed: time.Hour}}},
		"a connection is silent, others are not": {0, []moment{
			{passed: time.Second, waited: time.Second, event: heard, want: ask, stage: asked},
			{passed: 100 * ms, waited: time.Hour, event: heard},
		}},
		"silence becomes a suspicion, and a stall": {0, []moment{
			{passed: 249 * ms, waited: 249 * ms},
			{passed: 1 * ms, waited: 250 * ms, want: ask, stage: asked},
			{passed: 249 * ms, waited: 499 * ms, stage: asked},
			{passed: 1 * ms, waited: 500 * ms, want: suspected, stage: suspect},
			{passed: 100 * ms, waited: 600 * ms, stage: suspect},
			{passed: 150 * ms, waited: 750 * ms, want: ask, stage: suspect},
			{passed: 2250 * ms, waited: 3000 * ms, want: stalled, stage: suspect},
			{passed: 250 * ms, waited: 0, want: ask, stage: suspect}, // its connections are closed: dials tell
			{event: answered},
		}},
		"a byte ends a suspicion": {0, []moment{
			{passed: 250 * ms, waited: 250 * ms, want: ask, stage: asked},
			{passed: 250 * ms, waited: 500 * ms, want: suspected, stage: suspect},
			{event: heard, passed: 10 * ms, waited: 510 * ms},
		}},
		"an answer ends it, and the next question comes later": {0, []moment{
			{passed: 250 * ms, waited: 250 * ms, want: ask, stage: asked},
			{event: answered, passed: 250 * ms, waited: 500 * ms},
			{passed: 250 * ms, waited: 750 * ms, want: ask, stage: asked},
			{event: answered, passed: 999 * ms, waited: time.Hour},
			{passed: 1 * ms, waited: time.Hour, want: ask, stage: asked},
			{event: answered, passed: 1499 * ms, waited: time.Hour},
			{passed: 1 * ms, waited: time.Hour, want: ask, stage: asked}, // half of the stall timeout, from now on
			{event: answered, passed: 1500 * ms, waited: time.Hour, want: ask, stage: asked},
			{event: heard, passed: 250 * ms, waited: 250 * ms, want: ask, stage: asked}, // as at the beginning
		}},
		"what was silent is closed by somebody else": {0, []moment{
			{passed: 250 * ms, waited: 250 * ms, want: ask, stage: asked},
			{passed: 250 * ms, waited: 0},
		}},
		"trips usually take long": {50 * ms, []moment{
			{passed: 999 * ms, waited: 999 * ms},
			{passed: 1 * ms, waited: 1000 * ms, want: ask, stage: asked},
			{passed: 999 * ms, waited: 1999 * ms, stage: asked},
			{passed: 1 * ms, waited: 2000 * ms, want: suspected, stage: suspect},
		}},
		"no more than half of the stall timeout": {time.Minute, []moment{
			{passed: 1500 * ms, waited: 1500 * ms, want: ask, stage: asked},
			{passed: 1500 * ms, waited: 3000 * ms, want: verdict{ask: true, suspect: true, stalled: true}, stage: suspect},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch{stallTimeout: 3 * time.Second, usual: c.usual, timed: true}
			for i, m := range c.moments {
				if m.event != nil {
					m.event(&w)
				}
				if m.passed == 0 {
					require.Equal(t, m.stage, w.stage, "moment %d", i)
					continue
				}
				require.Equal(t, m.want, w.look(m.passed, m.waited), "moment %d", i)
				require.Equal(t, m.stage, w.stage, "moment %d", i)
			}
		})
	}
}

// TestWatchInRandomTrouble: whatever happens, a server that has shown life within
// an unusual time is not suspect, one that has not while something was in flight
// has been asked, and no verdict comes before its question.
func TestWatchInRandomTrouble(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := watch{stallTimeout: time.Duration(1+r.IntN(5000)) * ms}
		var life, waited, sinceAsk time.Duration
		for range 1000 {
			switch r.IntN(40) {
			case 0:
				w.heard()
				life, waited = 0, 0
			case 1:
				w.answered()
				life = 0
			case 2:
				waited = 0
			case 3:
				w.trip(time.Duration(r.IntN(100)) * ms)
			}
			passed := time.Duration(r.IntN(60)) * ms
			life, sinceAsk, waited = life+passed, sinceAsk+passed, waited+passed
			v := w.look(passed, waited)
			if v.ask {
				sinceAsk = 0
			}
			if v.suspect {
				require.GreaterOrEqual(t, life, w.unusual())
				require.GreaterOrEqual(t, waited, w.unusual())
			}
			if v.stalled {
				require.GreaterOrEqual(t, min(life, waited), w.stallTimeout)
			}
			if w.stage != answers {
				require.Less(t, sinceAsk, w.unusual()+60*ms)
			}
			if min(life, waited) >= w.patience() {
				require.NotEqual(t, answers, w.stage)
			}
		}
	}
}

func TestUsualTrip(t *testing.T) {
	w := watch{stallTimeout: time.Hour}
	require.Equal(t, w.stallTimeout/2, w.unusual(), "nobody knows")
	w.dialled(0)
	require.Equal(t, minSilence, w.unusual())
	w.dialled(20 * ms)
	require.Equal(t, 400*ms, w.unusual(), "a dial is all that is known")
	w.trip(2 * ms)
	w.dialled(20 * ms)
	require.Equal(t, 2*ms, w.usual, "a batch says more")
	w.trip(time.Hour)
	require.Less(t, w.usual, 4*ms, "one slow command is nothing usual")
	for range 100 {
		w.trip(50 * ms)
	}
	require.InDelta(t, 50*ms, w.usual, float64(ms), "many are")
	w.stallTimeout = 100 * ms
	require.Equal(t, 50*ms, w.unusual(), "two silences fit into the stall timeout")
}

// TestDoubtfulSilence: it is as many usual trips as an unusual silence, with a lower least
// time, and never longer than an unusual one.
func TestDoubtfulSilence(t *testing.T) {
	for name, c := range map[string]struct {
		watch watch
		want  time.Duration
	}{
		"a server that is near":         {watch{stallTimeout: 3 * time.Second, usual: ms / 10, timed: true}, 50 * ms},
		"only a handshake is known":     {watch{stallTimeout: 3 * time.Second, usual: 4 * ms}, 80 * ms},
		"a server that is far away":     {watch{stallTimeout: 3 * time.Second, usual: 40 * ms, timed: true}, 800 * ms},
		"half of the stall timeout":     {watch{stallTimeout: 3 * time.Second, usual: time.Second, timed: true}, 1500 * ms},
		"a stall timeout that is short": {watch{stallTimeout: 40 * ms, usual: ms, timed: true}, 20 * ms},
		"nobody knows":                  {watch{stallTimeout: 3 * time.Second}, 1500 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, c.watch.doubtful())
			require.LessOrEqual(t, c.watch.doubtful(), c.watch.unusual())
		})
	}
}

// TestDialIsJudgedByHandshakes: that the first command took long, as one on a lane for slow
// ones, says nothing of how long a dial may be unanswered (seed 600406).
func TestDialIsJudgedByHandshakes(t *testing.T) {
	const tick = 31 * time.Millisecond
	w := watch{stallTimeout: 3 * time.Second}
	w.dialled(400 * time.Microsecond)
	w.trip(700 * time.Millisecond)
	require.Equal(t, w.stallTimeout/2, w.unusual())
	w.unjoined = true
	waited := tick
	for ; !w.look(tick, waited).suspect; waited += tick {
		require.Less(t, waited, 600*time.Millisecond)
	}
}
