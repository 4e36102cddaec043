package limit

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

// A ledger is an observer that adds up hits.
type ledger struct {
	mu   sync.Mutex
	hits [5]int64
}

// The elements of a ledger's sums.
const (
	sumCounted = iota
	sumReturned
	sumLost
	sumLeased
	sumUnused
)

func (*ledger) Decided(time.Duration, []Request, Result) {}

func (l *ledger) Hits(_ *Limit, what string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hits[slices.Index([]string{hitsCounted, hitsReturned, hitsLost, hitsLeased, hitsUnused}, what)] += n
}

func (l *ledger) sums() [5]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hits
}

// TestReturnIsTriedAgain: a return that Redis refuses is tried again until it is taken, and
// one that is under way may take longer than the budget.
func TestReturnIsTriedAgain(t *testing.T) {
	for name, disturb := range map[string]func(w *world) (end func()){
		"refused": func(w *world) func() {
			w.refuseAll(model.OutOfSpace, "incrby", "decrby")
			return func() { w.refuseAll("", "incrby", "decrby") }
		},
		"forbidden": func(w *world) func() {
			w.refuseAll("NOPERM this user has no permissions to run this command", "incrby", "decrby")
			return func() { w.refuseAll("", "incrby", "decrby") }
		},
		"slow": func(w *world) func() {
			w.net.Impose("", "", simnet.Conditions{Latency: 300 * time.Millisecond})
			return func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l := w.limiter(t, Config{NearCache: -1, Observer: seen})
				tenant := l.must(t, Rule{Name: "tenant", Quota: 100, Window: 30 * 24 * time.Hour})
				user := l.must(t, Rule{Name: "user", Quota: 1, Window: time.Hour})
				require.True(t, l.Allow(t.Context(), Request{Limit: user, Key: "u"}, Request{Limit: tenant, Key: "t", Look: true}).Allowed)
				w.net.Impose("", "", simnet.Conditions{Latency: 10 * time.Millisecond})
				time.AfterFunc(15*time.Millisecond, func() { // the hits are counted
					end := disturb(w)
					time.AfterFunc(time.Minute, end)
				})
				require.False(t, l.Allow(t.Context(), Request{Limit: tenant, Key: "t", Cost: 3}, Request{Limit: user, Key: "u"}).Allowed)
				time.Sleep(2 * time.Minute)
				require.Equal(t, [5]int64{5, 4, 0}, seen.sums(), "counted, returned, lost")
				require.EqualValues(t, 1, l.count(t, user, "u"))
				require.Zero(t, l.count(t, tenant, "t"))
			})
		})
	}
}

// TestReturnEndsWithTheLimiter: Close tries once more, waits for the budget, and counts what
// is lost.
func TestReturnEndsWithTheLimiter(t *testing.T) {
	for name, disturb := range map[string]func(w *world){
		"no reply": func(w *world) { w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both}) },
		"refused": func(w *world) {
			for _, n := range w.model.Nodes() {
				n.Refuse("incrby", model.OutOfSpace, 0)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l, err := Config{NearCache: -1, Observer: seen, Budget: 50 * time.Millisecond}.New(w.client)
				require.NoError(t, err)
				tenant := l.must(t, Rule{Name: "tenant", Quota: 1, Window: time.Hour})
				require.True(t, l.Allow(t.Context(), Request{Limit: tenant, Key: "t"}).Allowed)
				w.net.Impose("", "", simnet.Conditions{Latency: 10 * time.Millisecond})
				time.AfterFunc(25*time.Millisecond, func() { disturb(w) }) // the return is under way
				require.False(t, l.Allow(t.Context(), Request{Limit: tenant, Key: "t"}).Allowed)
				time.Sleep(200 * time.Millisecond)
				began := time.Now()
				require.NoError(t, l.Close())
				require.LessOrEqual(t, time.Since(began), 60*time.Millisecond)
				require.Equal(t, [5]int64{2, 0, 1}, seen.sums())
			})
		})
	}
}

// TestDeniedHitsThatCount are counted by each call, also once their key is known to be over
// its limit.
func TestDeniedHitsThatCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		tenant := l.must(t, Rule{Name: "tenant", Quota: 100, Window: time.Hour, CountDenied: true})
		user := l.must(t, Rule{Name: "user", Quota: 1, Window: time.Hour})
		atWindow(time.Hour)
		for range 5 {
			l.Allow(t.Context(), Request{Limit: tenant, Key: "t"}, Request{Limit: user, Key: "u"})
			time.Sleep(200 * time.Millisecond) // the near cache has forgotten the user
		}
		require.EqualValues(t, 5, l.count(t, tenant, "t"))
	})
}

// TestBacklog: what each outcome of a return makes of it.
func TestBacklog(t *testing.T) {
	refused := fmt.Errorf("busy: %w", redislanes.ErrRefused)
	unknown := fmt.Errorf("no reply: %w", redislanes.ErrUnknownOutcome)
	for name, c := range map[string]struct {
		first          error
		then           []error // of each try
		window         time.Duration
		returned, lost int64
	}{
		"not sent, then taken":     {fmt.Errorf("down: %w", redislanes.ErrNotSent), []error{nil}, time.Hour, 7, 0},
		"a reply that is too much": {errors.New("too much"), nil, time.Hour, 0, 7},
		"the same, later":          {refused, []error{errors.New("too much")}, time.Hour, 0, 7},
		"refused three times":      {refused, []error{refused, refused, nil}, time.Hour, 7, 0},
		"unknown at first":         {unknown, nil, time.Hour, 0, 7},
		"unknown later":            {refused, []error{refused, unknown}, time.Hour, 0, 7},
		"until the window's end":   {refused, []error{refused, refused}, 650 * time.Millisecond, 0, 7},
		"a window that has passed": {refused, nil, time.Nanosecond, 0, 7},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen, tries := new(ledger), 0
				b := backlog{closed: make(chan struct{})}
				b.tell = func(of *Limit, what string, n int64) {
					if assert.True(t, b.mu.TryLock(), "a program is called under the lock") {
						b.mu.Unlock()
					}
					seen.Hits(of, what, n)
				}
				b.give = func(hits []pipeline.Hit, _ []*draw) {
					require.Len(t, hits, 1)
					require.EqualValues(t, -7, hits[0].By)
					hits[0].Err = c.then[tries]
					tries++
				}
				b.add(owed{cost: 7, until: time.Now().Add(c.window), hit: pipeline.Hit{By: -7}}, c.first)
				b.ended.Wait()
				require.Equal(t, [5]int64{0, c.returned, c.lost}, seen.sums())
				require.Len(t, c.then, tries)
				require.Empty(t, b.waiting)
			})
		})
	}
}

// TestBacklogOfTwoServers: what one server does not take holds up nothing of another one, nor does it
// while the limiter is closed.
func TestBacklogOfTwoServers(t *testing.T) {
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			seen := new(ledger)
			b := backlog{closed: make(chan struct{}), tell: seen.Hits}
			b.give = func(hits []pipeline.Hit, _ []*draw) {
				for i := range hits {
					if hits[i].Key == "away" {
						hits[i].Err = redislanes.ErrNotSent
					}
				}
			}
			for range 3 * owedAtOnce {
				b.add(owed{cost: 1, until: time.Now().Add(time.Hour), hit: pipeline.Hit{Key: "away"}}, redislanes.ErrNotSent)
			}
			b.add(owed{cost: 7, until: time.Now().Add(time.Hour), hit: pipeline.Hit{Key: "there"}}, redislanes.ErrNotSent)
			if !closed {
				time.Sleep(10 * time.Second)
				require.Equal(t, [5]int64{0, 7, 0}, seen.sums())
			}
			close(b.closed)
			b.ended.Wait()
			require.Equal(t, [5]int64{0, 7, 3 * owedAtOnce}, seen.sums())
		})
	}
}

// TestDoubtfulDrawIsNotSentLate: a draw that may have run is not sent again when Redis may have
// forgotten that it has, however long others were in front of it.
func TestDoubtfulDrawIsNotSentLate(t *testing.T) {
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			seen, sent := new(ledger), new(atomic.Int64)
			b := backlog{closed: make(chan struct{}), tell: seen.Hits}
			b.give = func(hits []pipeline.Hit, draws []*draw) {
				sent.Add(int64(len(draws)))
				for i := range hits {
					hits[i].Err = redislanes.ErrNotSent
				}
			}
			until := time.Now().Add(time.Hour)
			for range 20 * owedAtOnce { // which are in front, and fail
				b.add(owed{cost: 1, until: until, hit: pipeline.Hit{Key: "away"}}, redislanes.ErrNotSent)
			}
			b.add(owed{cost: 7, until: until, draw: &draw{once: "marker", sent: present()}}, redislanes.ErrUnknownOutcome)
			time.Sleep(time.Minute)
			require.Zero(t, sent.Load())
			if !closed {
				time.Sleep(20 * time.Minute)
			}
			close(b.closed)
			b.ended.Wait()
			require.Zero(t, sent.Load())
			require.Equal(t, [5]int64{0, 0, 7 + 20*owedAtOnce}, seen.sums())
		})
	}
}

// TestDoubtfulDrawAfterASuspension: a draw that may have run is sent again only if both clocks say that Redis still
// knows it. One stands still while the machine is suspended, and the other one may be set back.
func TestDoubtfulDrawAfterASuspension(t *testing.T) {
	for name, c := range map[string]struct {
		monotonic, wall time.Duration // since it was sent
		repeated        bool
	}{
		"at once":                  {0, 0, true},
		"late":                     {19 * time.Second, 19 * time.Second, true},
		"too late":                 {20 * time.Second, 20 * time.Second, false},
		"suspended":                {time.Second, 20 * time.Second, false},
		"suspended shortly":        {time.Second, 19 * time.Second, true},
		"clock set back":           {time.Second, -time.Hour, true},
		"clock set back, too late": {20 * time.Second, -time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				sent := moment{now.Add(-c.monotonic), now.Round(0).Add(-c.wall)}
				o := owed{draw: &draw{once: "marker", sent: sent}}
				require.Equal(t, c.repeated, o.mayRepeat(redislanes.ErrUnknownOutcome))
				o.draw.sent = present()
				require.Equal(t, c.repeated, o.mayRepeat(redislanes.ErrUnknownOutcome), "sent again since")
				o = owed{draw: &draw{once: "marker", sent: sent}}
				require.True(t, o.mayRepeat(redislanes.ErrNotSent), "it has not run")
			})
		})
	}
}

// TestBacklogDuringClose: what a call adds during the last try is tried, too.
func TestBacklogDuringClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen, tries := new(ledger), 0
		b := backlog{closed: make(chan struct{}), tell: seen.Hits}
		late := owed{cost: 7, until: time.Now().Add(time.Hour), hit: pipeline.Hit{Key: "late"}}
		b.give = func(hits []pipeline.Hit, _ []*draw) {
			if tries++; tries == 1 {
				b.add(late, redislanes.ErrNotSent)
			}
		}
		b.add(owed{cost: 1, until: time.Now().Add(time.Hour), hit: pipeline.Hit{Key: "k"}}, redislanes.ErrNotSent)
		close(b.closed)
		b.ended.Wait()
		require.Equal(t, [5]int64{0, 8, 0}, seen.sums())
	})
}

// TestGoodCallerBesideDeniedOnes: callers that are always denied by a limit of their own do
// not use up what is left of a limit that they share, nor make others wait for long.
func TestGoodCallerBesideDeniedOnes(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l := w.limiter(t, Config{})
				day := l.must(t, Rule{Name: "day", Quota: 1000, Window: 24 * time.Hour, Algorithm: algorithm})
				user := l.must(t, Rule{Name: "user", Quota: 1, Window: 24 * time.Hour})
				atWindow(24 * time.Hour)
				name := func(i int) string { return fmt.Sprint("u", i) }
				for i := range 100 {
					require.True(t, l.Allow(t.Context(), Request{Limit: user, Key: name(i)}).Allowed)
				}
				require.True(t, l.Allow(t.Context(), Request{Limit: day, Key: "t", Cost: 992}).Allowed)
				end := time.Now().Add(2 * time.Second)
				var callers sync.WaitGroup
				for i := range 16 {
					callers.Go(func() {
						for n := i; time.Now().Before(end); n += 7 {
							l.Allow(t.Context(), Request{Limit: day, Key: "t"}, Request{Limit: user, Key: name(n % 100)})
							time.Sleep(time.Duration(race.Rounds(2, 4)) * time.Millisecond)
						}
					})
				}
				time.Sleep(500 * time.Millisecond) // all are known to be over their limits
				for time.Now().Before(end) {
					time.Sleep(20 * time.Millisecond)
					r := l.Allow(t.Context(), Request{Limit: day, Key: "t", Look: true})
					require.NoError(t, r.Err)
					require.True(t, r.Allowed)
				}
				callers.Wait()
				time.Sleep(time.Second)
				require.EqualValues(t, 8, l.Allow(t.Context(), Request{Limit: day, Key: "t", Look: true}).Remaining)
			})
		})
	}
}

// TestDeniedByHitsThatAreGivenBack: a hit that would fit once others are given back is told
// to come back soon, and the near cache does not deny the next one.
func TestDeniedByHitsThatAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{})
		day := l.must(t, Rule{Name: "day", Quota: 10, Window: 24 * time.Hour})
		user := l.must(t, Rule{Name: "user", Quota: 1, Window: 24 * time.Hour})
		atWindow(24 * time.Hour)
		require.True(t, l.Allow(t.Context(), Request{Limit: user, Key: "u"}, Request{Limit: day, Key: "t", Look: true}).Allowed)
		var denied sync.WaitGroup
		denied.Go(func() {
			l.Allow(t.Context(), Request{Limit: day, Key: "t", Cost: 8}, Request{Limit: user, Key: "u"})
		})
		time.Sleep(100 * time.Microsecond) // the next one is behind it, before its return
		r := l.Allow(t.Context(), Request{Limit: day, Key: "t", Cost: 5})
		require.False(t, r.Allowed)
		require.LessOrEqual(t, r.RetryAfter, 10*time.Millisecond)
		denied.Wait()
		r = l.Allow(t.Context(), Request{Limit: day, Key: "t", Cost: 5})
		require.True(t, r.Allowed)
		require.EqualValues(t, 5, r.Remaining)

		other := w.limiter(t, Config{}) // it gives its hits back later
		reserved, _ := other.Reserve(t.Context(), Request{Limit: day, Key: "later", Cost: 8})
		r = l.Allow(t.Context(), Request{Limit: day, Key: "later", Cost: 5})
		require.False(t, r.Allowed)
		require.Greater(t, r.RetryAfter, 23*time.Hour)
		require.NoError(t, reserved.Cancel(t.Context()))
	})
}

// TestTwoRequestsOnOneKey: a call of two requests on a key with room for one is told the same RetryAfter as one
// request of both costs, and the near cache denies it the next time. It does not deny a single request.
func TestTwoRequestsOnOneKey(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				limit := l.must(t, Rule{Name: "user", Quota: 3, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				one, two := Request{Limit: limit, Key: "k"}, Request{Limit: limit, Key: "k", Cost: 2}
				require.True(t, l.Allow(t.Context(), one, one).Allowed)
				want := l.Allow(t.Context(), two)
				require.False(t, want.Allowed)
				require.Greater(t, want.RetryAfter, 19*time.Minute)
				time.Sleep(time.Second) // the near cache denies no more
				r := l.Allow(t.Context(), one, one)
				require.False(t, r.Allowed)
				require.InDelta(t, want.RetryAfter, r.RetryAfter, float64(2*time.Second))
				require.True(t, l.Allow(t.Context(), one, one).Near)
				require.True(t, l.Allow(t.Context(), one).Allowed)
			})
		})
	}
}
