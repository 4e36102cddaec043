package health

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

var (
	errTest  = errors.New("failed")
	defaults = Limits{SuspectAfter: 500 * ms, StallTimeout: 3 * time.Second}
)

// TestLostWhileSuspect: a suspect server without a connection is down, so that dials ask whether it is back.
func TestLostWhileSuspect(t *testing.T) {
	s := New(defaults)
	s.Lost(time.Now(), false, errTest, 0)
	require.Equal(t, Up, s.State())
	s.state = Suspect
	s.Lost(time.Now(), false, errTest, 1)
	require.Equal(t, Suspect, s.State())
	s.Lost(time.Now(), false, errTest, 0)
	require.Equal(t, Down, s.State())
}

// TestDiedYoung: connections have to prove themselves behind one that died young, and dials
// are spaced behind many in a row, until one that was made later has grown up.
func TestDiedYoung(t *testing.T) {
	now := time.Now()
	s := New(defaults)
	require.False(t, s.MustProve(now))
	for range SparedYoung {
		s.Dialled(now)
		now = now.Add(Youth - 1)
		s.DiedYoung(now)
		require.True(t, s.MustProve(now))
		require.False(t, s.Spaced())
		require.Equal(t, MaxDials, s.Dials())
	}
	s.DiedYoung(now)
	require.True(t, s.Spaced())
	require.Equal(t, 1, s.Dials())
	now = now.Add(time.Minute)
	require.True(t, s.MustProve(now), "nothing has joined since")
	s.Dialled(now)
	require.True(t, s.MustProve(now.Add(Youth-1)))
	require.False(t, s.MustProve(now.Add(Youth)))
	require.False(t, s.Spaced())
}

// TestBackoff: doubled for each failure, bounded; no longer than half of an outage, and
// slow where the server is unlikely to change its mind.
func TestBackoff(t *testing.T) {
	now := time.Now()
	s := New(defaults)
	for n := range 70 {
		s.Failed(now, Failure{Kind: Refused, Err: errTest}, 1, 0)
		least, most := s.Backoff(now)
		require.Zero(t, least)
		require.Equal(t, min(MaxBackoff, MinBackoff<<min(n, 20)), most)
	}
	s.Failed(now, Failure{Kind: Refused, Err: errTest}, 0, 0)
	require.Equal(t, Down, s.State())
	for _, c := range []struct{ down, most time.Duration }{{0, MinBackoff}, {100 * ms, 50 * ms}, {time.Minute, MaxBackoff}} {
		_, most := s.Backoff(now.Add(c.down))
		require.Equal(t, c.most, most)
	}
	s.Failed(now, Failure{Kind: Passing, Err: errTest}, 0, 0)
	_, most := s.Backoff(now.Add(time.Minute))
	require.Equal(t, PassingBackoff, most, "it says itself that it will be back")
	s.Failed(now, Failure{Kind: ForGood, Err: errTest}, 0, 0)
	least, most := s.Backoff(now)
	require.Equal(t, []time.Duration{MaxBackoff / 2, MaxBackoff}, []time.Duration{least, most})
	s.Dialled(now)
	require.NoError(t, s.Failure().Err)
}
