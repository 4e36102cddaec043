package health

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzServer lets anything happen to a server with three connections, and holds what the
// Server says against what is true.
func FuzzServer(f *testing.F) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		events := make([]byte, 2000)
		for i := range events {
			events[i] = byte(r.Uint32())
		}
		f.Add(uint16(r.IntN(5000)), events)
	}
	f.Fuzz(func(t *testing.T, stall uint16, events []byte) {
		l := defaults
		l.StallTimeout = max(LeastStallTimeout, time.Duration(stall)*ms)
		newFuzzed(l).run(t, events)
	})
}

// A fuzzed server is watched by a clock of the test's own.
type fuzzed struct {
	Server
	now      time.Time
	ran      time.Duration // how long the process has, at most
	life     time.Duration // when the server was heard last, on that clock
	conns    [3]Conn
	progress [3]uint64
	waits    [3]time.Duration // since when it waits, on that clock; -1: it does not
	asks     []time.Duration
}

func newFuzzed(l Limits) *fuzzed {
	f := &fuzzed{now: time.Unix(1e9, 0)}
	f.Server = New(l, f.now, l.LookEvery())
	f.waits = [3]time.Duration{-1, -1, -1}
	return f
}

func (f *fuzzed) run(t *testing.T, events []byte) {
	asked := Time(0)
	for _, e := range events {
		i := int(e>>4) % len(f.conns)
		switch e & 15 {
		case 0: // bytes
			f.progress[i]++
		case 1, 2, 3: // a batch
			if f.waits[i] < 0 {
				f.waits[i] = f.ran
			}
		case 4: // all batches have ended
			f.waits[i] = -1
		case 5:
			f.Answered(f.now)
			f.lives(t)
		case 6:
			f.Dialled(f.now, time.Duration(e)*ms/10)
			f.lives(t)
		case 7:
			f.Missed(&f.conns[i], f.now, f.progress[i])
		case 8:
			asked = f.At(f.now)
		case 9, 10: // a dial that may be long ago
			kind := Kind(e >> 4 % 4)
			was, before := f.State(), f.Against()
			f.Failed(f.now, Failure{Asked: asked, Kind: kind, Err: errTest}, int(e>>5)%2, int(e>>6)%2)
			if kind == Unanswered && f.HeardSince(asked) && was == Up {
				require.Equal(t, Up, f.State(), "the question was asked before the server was heard")
				require.False(t, f.Against() && !before)
			}
		case 11:
			f.DiedYoung(f.now)
		case 12: // frozen
			f.now = f.now.Add(time.Hour)
			f.look(t)
		default:
			f.now = f.now.Add(f.LookEvery())
			f.look(t)
		}
		least, most := f.Backoff(f.now)
		require.Less(t, least, most)
		require.LessOrEqual(t, most, f.MaxBackoff)
		require.Contains(t, []int{1, MaxDials}, f.Dials())
	}
	f.settle(t)
}

// lives: one answer ends any suspicion.
func (f *fuzzed) lives(t *testing.T) {
	f.life = f.ran
	if f.State() != Down {
		require.True(t, f.Answers())
	}
	f.asks = nil
}

func (f *fuzzed) look(t *testing.T) {
	f.ran += f.LookEvery() // at least, and twice as much if the process was frozen
	before, run := f.State(), f.clock.run
	look := f.Look(f.now)
	took := time.Duration(f.clock.run - run)
	require.LessOrEqual(t, took, 2*f.LookEvery(), "frozen time does not count")
	f.ran += took - f.LookEvery()
	heard := false
	for i := range f.conns {
		saw := Sight{Progress: f.progress[i], InFlight: f.waits[i] >= 0}
		if look.See(&f.conns[i], saw) {
			heard = true
			if f.waits[i] >= 0 {
				f.waits[i] = f.ran
			}
			require.Zero(t, f.Silence(&f.conns[i]))
			require.False(t, f.Doubts(&f.conns[i]), "a byte ends the doubt")
		}
	}
	if heard {
		f.life, f.asks = f.ran, nil
	}
	v := look.Judge(Dials{})
	require.Equal(t, heard, v.Heard)
	if v.Ask {
		f.asks = append(f.asks, f.ran)
	}
	if n := len(f.asks); n > 1 {
		require.GreaterOrEqual(t, f.asks[n-1]-f.asks[n-2], min(MinSilence, f.StallTimeout/2), "questions are spaced")
	}
	silence := min(slices.Max([]time.Duration{f.silence(0), f.silence(1), f.silence(2)}), f.ran-f.life)
	switch {
	case before == Down:
		require.Equal(t, Down, f.State(), "only a dial ends that")
	case heard:
		require.Equal(t, Up, f.State(), "a byte ends any suspicion")
	case before == Up && f.State() == Suspect:
		require.NotEmpty(t, f.asks, "no suspicion without a question")
		require.GreaterOrEqual(t, silence, f.unusual())
	}
	if v.Stalled {
		require.Equal(t, Suspect, f.State())
		require.GreaterOrEqual(t, silence, f.StallTimeout)
	}
}

func (f *fuzzed) silence(i int) time.Duration {
	if f.waits[i] < 0 {
		return 0
	}
	return f.ran - f.waits[i]
}

// settle: whatever has happened, a server that is silent from now on is suspect after twice
// an unusual silence, and its connections have stalled after StallTimeout; both but for
// the looks, and the excuse of questions that it has answered.
func (f *fuzzed) settle(t *testing.T) {
	f.Dialled(f.now, ms)
	f.Heard(f.now)
	f.lives(t)
	f.progress[0]++
	f.waits[0] = f.ran
	suspect, stalled := time.Duration(-1), time.Duration(-1)
	for began := f.ran; f.ran-began < f.StallTimeout+3*f.LookEvery(); {
		f.now = f.now.Add(f.LookEvery())
		look := f.Look(f.now)
		f.ran += f.LookEvery()
		for i := range f.conns {
			look.See(&f.conns[i], Sight{Progress: f.progress[i], InFlight: true})
		}
		v := look.Judge(Dials{})
		if suspect < 0 && f.State() == Suspect {
			suspect = f.ran - began
		}
		if stalled < 0 && v.Stalled {
			stalled = f.ran - began
		}
	}
	require.Positive(t, suspect)
	require.LessOrEqual(t, suspect, 2*f.unusual()+4*f.LookEvery())
	require.Positive(t, stalled)
}
