package counter_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	redislanes "github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/limit/internal/counter"
)

// A scene is a take of a key in some state.
type scene struct {
	name   string
	take   counter.Take // its Used and UsedBefore are what is there, if it is Known
	there  any          // the value of the key; nil: none
	before any
	// The outcome.
	rounds  int
	applied bool
	total   int64
	ran     string // on a server with SET NX GET
	increx  string // on one with INCREX
	trips   int    // on one with INCREX; default rounds
}

func known(take counter.Take, used, before int64) counter.Take {
	take.Known, take.Used, take.UsedBefore = true, used, before
	return take
}

var scenes = []scene{
	{name: "first hit", take: fixed("k", 1, 10), rounds: 1, applied: true, total: 1, ran: "set 1", increx: "increx 1"},
	{name: "first hits that never fit", take: fixed("k", 11, 10), rounds: 1, ran: "evalsha 1, get 1", increx: "increx 1"},
	{name: "far, not known", take: fixed("k", 2, 100), there: 7, rounds: 2, applied: true, total: 9, ran: "expire 1, incrby 1, set 1", increx: "increx 1", trips: 1},
	{name: "near, not known", take: fixed("k", 3, 10), there: 7, rounds: 2, applied: true, total: 10, ran: "evalsha 1, get 1, incrby 1, pttl 1, set 1", increx: "increx 1", trips: 1},
	{name: "denied, not known", take: fixed("k", 4, 10), there: 7, rounds: 1, total: 7, ran: "set 1", increx: "increx 1"},
	{name: "far", take: known(fixed("k", 2, 100), 7, 0), there: 8, rounds: 1, applied: true, total: 10, ran: "incrby 1", increx: "increx 1"},
	{name: "near", take: known(fixed("k", 2, 100), 90, 0), there: 91, rounds: 1, applied: true, total: 93, ran: "evalsha 1, get 1, incrby 1", increx: "increx 1"},
	{name: "denied", take: known(fixed("k", 2, 100), 90, 0), there: 99, rounds: 1, total: 99, ran: "evalsha 1, get 1", increx: "increx 1"},
	{name: "far by an old word", take: known(fixed("k", 2, 100), 1, 0), there: 99, rounds: 2, total: 99, ran: "evalsha 1, get 1, incrby 2", increx: "increx 1", trips: 1},
	{name: "a key that was lost", take: known(fixed("k", 2, 100), 30, 0), rounds: 2, applied: true, total: 2, ran: "expire 1, incrby 1", increx: "increx 1", trips: 1},
	{name: "a huge value", take: fixed("k", 1, 10), there: int64(math.MaxInt64), rounds: 1, total: 1 << 62, ran: "set 1", increx: "increx 1"},
	{name: "a negative value", take: fixed("k", 2, 10), there: -5, rounds: 2, applied: true, total: 2, ran: "evalsha 1, get 1, incrby 1, pttl 1, set 1", increx: "increx 1", trips: 1},
	{name: "sliding, first hit", take: sliding("k", 1, 10), before: 18, rounds: 1, applied: true, total: 1, ran: "get 1, set 1", increx: "get 1, increx 1"},
	{name: "sliding, first hit does not fit", take: sliding("k", 1, 10), before: 20, rounds: 2, total: 0, ran: "evalsha 1, get 3, incrby 1, set 1", increx: "get 2, increx 2"},
	{name: "sliding, first hits", take: sliding("k", 2, 10), before: 16, rounds: 1, applied: true, total: 2, ran: "evalsha 1, get 2, set 1", increx: "evalsha 1, get 2, set 1"},
	{name: "sliding, first hits do not fit", take: sliding("k", 2, 10), before: 18, rounds: 1, total: 0, ran: "evalsha 1, get 2", increx: "evalsha 1, get 2"},
	{name: "sliding, not known", take: sliding("k", 1, 100), there: 7, before: 18, rounds: 2, applied: true, total: 8, ran: "expire 1, get 2, incrby 1, set 1", increx: "get 1, increx 1", trips: 1},
	{name: "sliding, far", take: known(sliding("k", 2, 100), 7, 18), there: 8, before: 19, rounds: 1, applied: true, total: 10, ran: "get 1, incrby 1", increx: "get 1, increx 1"},
	{name: "sliding, near", take: known(sliding("k", 2, 20), 7, 18), there: 8, before: 19, rounds: 1, applied: true, total: 10, ran: "evalsha 1, get 2, incrby 1", increx: "get 1, increx 1"},
	{name: "sliding, denied", take: known(sliding("k", 2, 20), 7, 18), there: 8, before: 22, rounds: 1, total: 8, ran: "evalsha 1, get 2", increx: "get 2, increx 2", trips: 2},
	{name: "sliding, far by an old word before", take: known(sliding("k", 2, 100), 7, 18), there: 7, before: 184, rounds: 2, total: 7, ran: "evalsha 1, get 3, incrby 2", increx: "get 2, increx 2"},
	{name: "sliding, less before than known", take: known(sliding("k", 2, 20), 8, 22), there: 8, before: 18, rounds: 1, applied: true, total: 10, ran: "evalsha 1, get 2, incrby 1", increx: "get 2, increx 2", trips: 2},
	{name: "a look", take: sliding("k", 0, 100), there: 7, before: 18, rounds: 1, applied: true, total: 7, ran: "get 2", increx: "get 2"},
	{name: "a look at nothing", take: fixed("k", 0, 100), rounds: 1, applied: true, ran: "get 1", increx: "get 1"},
	{name: "a return", take: known(fixed("k", -3, 100), 7, 0), there: 7, rounds: 1, applied: true, total: 4, ran: "evalsha 1, get 1, incrby 1", increx: "increx 1"},
	{name: "sliding, a return", take: sliding("k", -3, 100), there: 7, before: 18, rounds: 1, applied: true, total: 4, ran: "evalsha 1, get 2, incrby 1, pttl 1", increx: "get 1, increx 1"},
	{name: "sliding, a charge", take: sliding("k", 2, math.MaxInt64), there: 7, before: 18, rounds: 1, applied: true, total: 9, ran: "evalsha 1, get 2, incrby 1, pttl 1", increx: "evalsha 1, get 2, incrby 1, pttl 1"},
	{name: "a charge beyond what was the bound", take: known(fixed("k", 200, math.MaxInt64), 7, 0), there: 7, rounds: 1, applied: true, total: 207, ran: "incrby 1", increx: "increx 1"},
	{name: "a return of more than there is", take: fixed("k", -8, 100), there: 7, rounds: 1, total: 7, ran: "evalsha 1, get 1", increx: "increx 1"},
	{name: "a return to nothing", take: fixed("k", -8, 100), rounds: 1, ran: "evalsha 1, get 1", increx: "increx 1"},
}

// set gives the keys what the scene begins with.
func (c *scene) set(r *rig) {
	r.cmd("DEL", "k")
	r.cmd("DEL", "{k}before")
	if c.there != nil {
		r.cmd("SET", "k", c.there, "EX", 5000)
	}
	if c.before != nil {
		r.cmd("SET", "{k}before", c.before, "EX", 5000)
	}
}

// TestScenes: outcomes and commands, of a limiter that knows what the server has.
func TestScenes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		var s counter.Server
		first := fixed("first", 1, 1)
		r.take(&s, &first)
		for _, c := range scenes {
			c.set(r)
			_ = r.ran()
			take := c.take
			rounds := r.take(&s, &take)
			ran := r.ran()
			require.NoError(t, take.Err, c.name)
			require.Equal(t, c.applied, take.Applied, c.name)
			require.Equal(t, c.total, take.Used, c.name)
			require.True(t, take.Known || !c.take.Known && (!c.applied || take.N <= 0), c.name)
			require.NotEqual(t, int64(-1), r.ttl("k"), c.name)
			if c.there != int64(math.MaxInt64) && c.there != -5 {
				require.Equal(t, c.total, r.get("k"), c.name)
			}
			if c.before != nil {
				require.EqualValues(t, c.before, take.UsedBefore, c.name)
			}
			if r.has && c.trips > 0 {
				c.rounds = c.trips
			}
			switch {
			case r.has:
				require.Equal(t, c.increx, ran, c.name)
				require.Equal(t, c.rounds, rounds, c.name)
			case !r.old:
				require.Equal(t, c.ran, ran, c.name)
				require.Equal(t, c.rounds, rounds, c.name)
			}
		}
	})
}

// TestFirstTake: the first take finds out what the server has, and no other does.
func TestFirstTake(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		for _, there := range []bool{false, true} {
			var s counter.Server
			r.cmd("DEL", "k")
			if there {
				r.cmd("SET", "k", 5, "EX", 100)
			}
			for range 3 {
				_ = r.ran()
				take := known(fixed("k", 1, 1000), 5, 0)
				r.take(&s, &take)
				require.NoError(t, take.Err)
				require.True(t, take.Applied)
				switch ran := r.ran(); {
				case r.has:
					require.Equal(t, "increx 1", ran)
				default:
					require.NotContains(t, ran, "increx")
				}
			}
		}
	})
}

// TestNoNumber: a key that holds something else is an error, and keeps it.
func TestNoNumber(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		for range 2 {
			var s counter.Server
			for _, take := range []counter.Take{
				fixed("text", 1, 10), fixed("list", 1, 10), known(fixed("text", 1, 100), 5, 0), known(fixed("list", 1, 100), 5, 0),
				sliding("text", 1, 10), sliding("list", 2, 10), known(sliding("list", 1, 100), 5, 0), sliding("text", 0, 10), fixed("list", -1, 10),
			} {
				r.cmd("SET", "text", "abc")
				r.cmd("DEL", "list")
				r.cmd("RPUSH", "list", "abc")
				r.take(&s, &take)
				require.Error(t, take.Err)
				require.False(t, take.Applied)
				require.NotErrorIs(t, take.Err, redislanes.ErrNotSent)
			}
			text, err := r.cmd("GET", "text").Text()
			require.NoError(t, err)
			require.Equal(t, "abc", text)
		}
	})
}

// TestWindowBeforeIsNoNumber: nothing is granted.
func TestWindowBeforeIsNoNumber(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		var s counter.Server
		for _, take := range []counter.Take{sliding("k", 1, 100), sliding("k", 2, 100), known(sliding("k", 2, 100), 5, 0), sliding("new", 1, 10)} {
			r.cmd("SET", take.Before, "abc")
			r.take(&s, &take)
			require.Error(t, take.Err)
			require.False(t, take.Applied)
			require.NotEqual(t, int64(-1), r.ttl(take.Key))
		}
	})
}

// TestTogether: many processes use all of a limit, and no more.
func TestTogether(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		for _, base := range []counter.Take{fixed("f", 1, 500), sliding("s", 1, 500)} {
			if base.Before != "" {
				r.cmd("SET", base.Before, 401, "EX", 1000)
			}
			var mu sync.Mutex
			granted, share := int64(0), int64(0)
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					var s counter.Server
					take := base
					for j := range 150 {
						take.N = 1 + int64((i+j)%7)
						if j > 120 {
							take.N = 1
						}
						r.take(&s, &take)
						if take.Err != nil {
							t.Error(take.Err)
						}
						if mu.Lock(); take.Applied {
							granted += take.N
						}
						share = take.UsedBefore / 2
						mu.Unlock()
					}
				})
			}
			all.Wait()
			require.Equal(t, int64(500), granted+share)
			require.Equal(t, granted, r.get(base.Key))
			require.Positive(t, r.ttl(base.Key))
		}
	})
}
