package health

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUsualTrip(t *testing.T) {
	s := New(Limits{StallTimeout: time.Hour}, time.Now(), ms)
	require.Equal(t, s.StallTimeout/2, s.unusual(), "nobody knows")
	s.Dialled(time.Now(), 0)
	require.Equal(t, MinSilence, s.unusual())
	s = New(Limits{StallTimeout: time.Hour}, time.Now(), ms)
	s.Dialled(time.Now(), 20*ms)
	require.Equal(t, 400*ms, s.unusual(), "a handshake is all that is known")
	s.RoundTrip(2 * ms)
	s.Dialled(time.Now(), 20*ms)
	require.Equal(t, 2*ms, s.Usual(), "a batch says more")
	s.RoundTrip(time.Hour)
	require.Less(t, s.Usual(), 4*ms, "one slow command is nothing usual")
	for range 100 {
		s.RoundTrip(50 * ms)
	}
	require.InDelta(t, 50*ms, s.Usual(), float64(ms), "many are")
	s.StallTimeout = 100 * ms
	require.Equal(t, 50*ms, s.unusual(), "two silences fit into the stall timeout")
}

// TestPatience: it is an unusual silence, doubled for each question that was answered, and half of
// StallTimeout at most.
func TestPatience(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	for name, c := range map[string]struct {
		stall      time.Duration
		roundTrips roundTrips
		excused    int
		want       time.Duration
	}{
		"no question":              {3 * time.Second, roundTrips{usual: ms}, 0, MinSilence},
		"two questions":            {3 * time.Second, roundTrips{usual: ms}, 2, 4 * MinSilence},
		"many questions":           {3 * time.Second, roundTrips{usual: ms}, 100, 1500 * ms},
		"an odd limit":             {time.Second + 1, roundTrips{usual: ms}, 1, time.Second / 2},
		"a server never reached":   {longest, roundTrips{}, 1, longest / 2},
		"asked more often":         {longest, roundTrips{}, 100, longest / 2},
		"a long limit":             {longest, roundTrips{usual: ms}, 100, MinSilence << 16},
		"the limit is not doubled": {240 * time.Hour, roundTrips{}, 16, 120 * time.Hour},
	} {
		s := New(Limits{StallTimeout: c.stall}, time.Now(), ms)
		s.roundTrips, s.excused = c.roundTrips, c.excused
		require.Equal(t, c.want, s.patience(), name)
	}
}

// TestDoubtfulSilence: it is as many usual round trips as an unusual silence, with a lower least
// time, and never longer than an unusual one.
func TestDoubtfulSilence(t *testing.T) {
	for name, c := range map[string]struct {
		stall      time.Duration
		roundTrips roundTrips
		want       time.Duration
	}{
		"a server that is near":         {3 * time.Second, roundTrips{usual: ms / 10}, 50 * ms},
		"only a handshake is known":     {3 * time.Second, roundTrips{handshake: 4 * ms}, 80 * ms},
		"a server that is far away":     {3 * time.Second, roundTrips{usual: 40 * ms}, 800 * ms},
		"half of the stall timeout":     {3 * time.Second, roundTrips{usual: time.Second}, 1500 * ms},
		"a stall timeout that is short": {40 * ms, roundTrips{usual: ms}, 20 * ms},
		"nobody knows":                  {3 * time.Second, roundTrips{}, 1500 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			s := Server{Limits: Limits{StallTimeout: c.stall}, roundTrips: c.roundTrips}
			require.Equal(t, c.want, s.doubtful())
			require.LessOrEqual(t, s.doubtful(), s.unusual())
		})
	}
}

// TestOnePauseIsOneTrip: a pause that holds up ten connections is one event.
func TestOnePauseIsOneTrip(t *testing.T) {
	s := New(defaults, time.Now(), ms)
	s.RoundTrip(ms)
	conns := make([]Conn, 10)
	look := s.Look(time.Now())
	for i := range conns {
		look.See(&conns[i], Sight{Progress: 1, RoundTrip: 5 * time.Second})
	}
	look.Judge(Dials{})
	require.Less(t, s.Usual(), 3*ms)
}

// TestUsualHandshake: one that waited for a silent server is nothing usual, and a short one
// is at once.
func TestUsualHandshake(t *testing.T) {
	s := New(defaults, time.Now(), ms)
	s.Dialled(time.Now(), time.Second)
	require.Equal(t, time.Second, s.handshake)
	s.Dialled(time.Now(), ms)
	require.Equal(t, ms, s.handshake)
	s.Dialled(time.Now(), time.Second)
	require.Less(t, s.handshake, 2*ms)
	for range 100 {
		s.Dialled(time.Now(), 40*ms)
	}
	require.InDelta(t, 40*ms, s.handshake, float64(ms), "the server has moved away")
}

// TestClock: a clock counts what was planned between two looks, and a little more at them.
func TestClock(t *testing.T) {
	now := time.Now()
	c := newClock(now, 30*ms)
	require.Equal(t, Time(1), c.at(now.Add(-time.Second)))
	require.Equal(t, Time(1+20*ms), c.at(now.Add(20*ms)))
	require.Equal(t, Time(1+30*ms), c.at(now.Add(time.Hour)))
	c.look(now.Add(time.Hour), 10*ms)
	require.Equal(t, Time(1+40*ms), c.at(now.Add(time.Hour)))
	c.look(now, 10*ms) // the clock of the machine was set back
	require.Equal(t, Time(1+40*ms), c.at(now))
}

// TestSlowConnects: the answer over a new connection may take as long as connecting usually does.
// One slow dial is nothing usual.
func TestSlowConnects(t *testing.T) {
	s := New(defaults, time.Now(), ms)
	s.Dialled(time.Now(), ms)
	for range 4 {
		s.Connected(ms)
	}
	require.Equal(t, MinSilence, s.answerTime())
	s.Connected(time.Second)
	require.Equal(t, MinSilence, s.answerTime())
	s = New(defaults, time.Now(), ms)
	s.Dialled(time.Now(), ms)
	for range 4 {
		s.Connected(700 * ms)
	}
	require.InDelta(t, 1400*ms, s.answerTime(), float64(200*ms))
	for range 4 {
		s.Connected(ms)
	}
	require.Equal(t, MinSilence, s.answerTime())
}
