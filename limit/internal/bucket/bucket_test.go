package bucket

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// A server has buckets. Its clock is set by hand.
type server struct {
	t    *testing.T
	pipe *pipeline.Pipeline
	now  int64
	real bool
}

// rounds returns n, or less where they take long.
func (s *server) rounds(n int) uint64 {
	if n = race.Rounds(n, n/8); !s.real {
		n /= 10
	}
	return uint64(n)
}

// onServers runs the test against a real server and an emulated one.
func onServers(t *testing.T, test func(t *testing.T, s *server)) {
	for name, start := range map[string]func(*testing.T) []string{
		"real":     func(t *testing.T) []string { return servers.StartServer(t, servers.Options{}).Addrs() },
		"emulated": func(t *testing.T) []string { return redistest.StartEmulated(t, 1).Addrs() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := cluster.Config{}.New(t.Context(), start(t))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			test(t, &server{t: t, pipe: pipeline.New(client), now: 60_000_000_000_000, real: name == "real"})
		})
	}
}

func (s *server) draw(d Draw) *Draw {
	s.t.Helper()
	d.Now = strconv.FormatInt(s.now, 10)
	s.pipe.Reset()
	d.Append(s.pipe)
	_ = s.pipe.Do(s.t.Context())
	d.Read()
	require.NoError(s.t, d.Err)
	return &d
}

// A key draws from one bucket.
func (s *server) key(key string, rule *Rule) func(mode Mode, cost int64, from ...Start) *Draw {
	return func(mode Mode, cost int64, from ...Start) *Draw {
		s.t.Helper()
		d := Draw{Key: key, Rule: rule, Cost: cost, Mode: mode}
		if len(from) > 0 {
			d.From = from[0]
		}
		return s.draw(d)
	}
}

// TestDraws walks through the modes.
func TestDraws(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s *server) {
		draw := s.key("k", NewRule(10, 20, 10*time.Second))
		full := func(seconds float64, d *Draw) *Draw {
			t.Helper()
			require.Equal(t, time.Duration(seconds*1e9), d.Full)
			return d
		}
		require.True(t, full(0, draw(Look, 20)).Applied)
		require.False(t, full(0, draw(Look, 21)).Applied)
		first := full(5, draw(Take, 5))
		second := full(20, draw(Take, 15))
		require.False(t, full(20, draw(Take, 1)).Applied)
		s.now += 2_000_000
		full(15, draw(Return, 5, first.Began)) // two have flowed in
		require.True(t, full(18, draw(Take, 3)).Applied)
		full(3, draw(Return, 15, second.Began))
		require.False(t, full(25, draw(Charge, 22)).Applied)
		require.False(t, full(25, draw(Take, 1)).Applied)
		full(23, draw(Last, 2))
		s.now += 4_000_000
		leased := full(20, draw(Lease, 1))
		full(20, draw(Last, 5))
		full(20, draw(Return, 5, first.Began))
		full(19, draw(Unlease, 1, leased.Began))
		s.now += 60_000_000
		full(0, draw(Last, 5))
		require.True(t, full(20, draw(Take, 20)).Applied)

		s.now += 60_000_000 // a stretch that moves up, and begins to pass then
		first, second = draw(Take, 10), draw(Take, 10)
		full(10, draw(Return, 10, first.Began))
		s.now += 9_000_000
		full(11, draw(Take, 10))
		full(10, draw(Return, 10, second.Began))

		s.now += 60_000_000 // in any order: none has moved to before it was taken
		first, second = draw(Take, 5), draw(Take, 5)
		third := full(15, draw(Take, 5))
		full(10, draw(Return, 5, second.Began))
		full(5, draw(Return, 5, first.Began))
		full(0, draw(Return, 5, third.Began))

		s.now += 60_000_000 // a Start from before the bucket was full
		first = draw(Take, 10)
		full(11, draw(Take, 1))
		full(1, draw(Return, 10, first.Began))
		early := full(6, draw(Take, 5))
		s.now += 6_000_000
		full(7, draw(Take, 7))
		full(7, draw(Return, 5, early.Began))

		draw = s.key("far", NewRule(10, 100, 10*time.Second))
		far := draw(Lease, 20)
		draw(Take, 5)
		full(45, draw(Lease, 20))
		full(37, draw(Unlease, 8, far.Rule.After(far.Began, 12)))
		full(37, draw(Unlease, 2, far.Rule.After(far.Began, 10))) // a lease of today may have tokens there
	})
}
