package limit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit/internal/window"
	"github.com/redislanes/redislanes/redistest"
)

// A demand is how often eight processes hit a limit.
type demand struct {
	name    string
	factor  float64 // of the limit
	spread  bool    // evenly; else one has all
	patient bool    // after a denial, nobody calls before RetryAfter
	limit   *Limit
	end     int64 // the window in which it ends, at its beginning

	mu              sync.Mutex
	issued, allowed map[int64]int64 // by tenth of a window
	leased          int64
	slowest         time.Duration // call
}

var (
	exactRate int64 = 5000 // what is allowed in a second
	leastUse        = 0.99 // which part of a limit is used, at least
)

func init() {
	if race.Enabled { // which is slow, and stalls processes beside other tests
		exactRate, leastUse = 2000, 0.95
	}
}

// TestExactWindows: the same in a simulated world, with long windows, and with callers that wait as
// long as they are told: what they could have had meanwhile counts as missed.
func TestExactWindows(t *testing.T) {
	rules := []Rule{
		{Window: time.Second, Quota: 800},
		{Window: 10 * time.Second, Quota: 1200, Algorithm: SlidingWindow},
		{Window: 10 * time.Second, Quota: 600, Algorithm: TokenBucket},
	}
	if !race.Enabled { // which is slow
		rules = append(rules,
			Rule{Window: time.Minute, Quota: 3000},
			Rule{Window: time.Second, Quota: 800, Algorithm: SlidingWindow},
			Rule{Window: time.Second, Quota: 800, Algorithm: TokenBucket},
			Rule{Window: 10 * time.Second, Quota: 6000},
			Rule{Window: time.Minute, Quota: 6000, Algorithm: SlidingWindow},
		)
	}
	for _, rule := range rules {
		t.Run(fmt.Sprint(rule.Window, rule.Algorithm), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				time.Sleep(window.At(time.Now(), rule.Window).Left() - rule.Window/10)
				rule.FailClosed = true
				for _, d := range runDemands(t, rule, max(1, int(3*time.Second/rule.Window)), true, func(ctx context.Context) (*cluster.Client, error) {
					return cluster.Config{Dialer: lanes.Dialer{NetDial: w.net.Dialer("client")}, RefreshEvery: -1}.New(ctx, []string{w.model.Nodes()[0].Addr()})
				}) {
					d.check(t, true)
				}
			})
		})
	}
}

// TestExact: eight processes share limits on a real server. Together they never allow more than
// a limit, and at least 99 % of what they can; never more also if their connections are cut.
func TestExact(t *testing.T) {
	t.Run("cut", func(t *testing.T) { testExact(t, true) })
	t.Run("whole", func(t *testing.T) { testExact(t, false) })
}

func testExact(t *testing.T, cut bool) {
	real := servers.StartServer(t, servers.Options{})
	for length, windows := range map[time.Duration]int{100 * time.Millisecond: 10, time.Second: 2} {
		if testing.Short() || cut {
			windows /= 2
		}
		t.Run(length.String(), func(t *testing.T) {
			for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
				t.Run(algorithm.String(), func(t *testing.T) {
					t.Parallel() // which shortens the test: it waits most of the time
					rule := Rule{Algorithm: algorithm, Window: length, Quota: exactRate * int64(length) / int64(time.Second), FailClosed: true}
					for _, d := range runDemands(t, rule, windows, false, func(ctx context.Context) (*cluster.Client, error) {
						return eighth(ctx, t, real.Addrs(), cut)
					}) {
						d.check(t, !cut)
					}
				})
			}
		})
	}
}

// eighth returns a client of its own, the connections of which may be cut every now and then.
func eighth(ctx context.Context, t *testing.T, addrs []string, cut bool) (*cluster.Client, error) {
	var c cluster.Config
	if cut {
		proxy := redistest.StartProxy(t, addrs[0])
		c.Dialer.NetDial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, proxy.Addr())
		}
		ended := make(chan struct{})
		t.Cleanup(func() { close(ended) })
		defer func() {
			go func() {
				for {
					select {
					case <-ended:
						return
					case <-time.After(rand.N(100 * time.Millisecond)):
						proxy.Reset()
					}
				}
			}()
		}()
	}
	return c.New(ctx, addrs)
}

// runDemands has eight processes hit limits of the rule, for so many whole windows.
func runDemands(t *testing.T, rule Rule, windows int, patient bool, connect func(context.Context) (*cluster.Client, error)) []*demand {
	var processes sync.WaitGroup
	defer processes.Wait()
	began := time.Now()
	end := began.Add(window.At(began, rule.Window).Left() + time.Duration(windows)*rule.Window)
	demands := []*demand{{name: "one-3", factor: 3}, {name: "one-1", factor: 1}, {name: "all-3", factor: 3, spread: true}, {name: "all-1", factor: 1, spread: true}}
	for _, d := range demands {
		d.patient, d.end = patient, window.At(end, rule.Window).Number
		d.issued, d.allowed = make(map[int64]int64), make(map[int64]int64)
	}
	for i := range 8 {
		client, err := connect(t.Context())
		require.NoError(t, err)
		l, err := Config{Budget: time.Second}.New(client)
		require.NoError(t, err)
		var callers sync.WaitGroup
		for _, d := range demands {
			rule.Name = fmt.Sprintf("%s-%d-%v", d.name, rule.Algorithm, rule.Window)
			limit := l.must(t, rule)
			if rate := d.rate(i, float64(rule.Quota)/rule.Window.Seconds()); rate > 0 {
				callers.Go(func() { d.run(l, limit, rate, end) })
			}
		}
		processes.Go(func() {
			callers.Wait()
			_ = l.Close()
			_ = client.Close()
		})
	}
	return demands
}

// rate returns how often the process hits a limit of so many hits in a second.
func (d *demand) rate(process int, limit float64) float64 {
	switch {
	case d.spread:
		return d.factor * limit / 8
	case process == 0:
		return d.factor * limit
	}
	return 0
}

// run calls so often, at random times.
func (d *demand) run(l *Limiter, limit *Limit, rate float64, end time.Time) {
	issued, allowed, leased, slowest := make(map[int64]int64), make(map[int64]int64), int64(0), time.Duration(0)
	next := time.Now()
	retry := next
	for next.Before(end) && time.Now().Before(end) {
		next = next.Add(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
		if next.Before(retry) {
			issued[window.At(next, limit.rule.Window/10).Number]++
			continue
		}
		time.Sleep(time.Until(next))
		now := time.Now()
		var r Result
		l.allowAt(context.Background(), now, now, []Request{{Limit: limit, Key: "k"}}, nil, &r)
		slowest = max(slowest, time.Since(now))
		tenth := window.At(now, limit.rule.Window/10).Number
		issued[tenth]++
		if r.Allowed {
			allowed[tenth]++
		} else if d.patient {
			retry = now.Add(r.RetryAfter)
		}
		if r.Leased {
			leased++
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit = limit
	for tenth, n := range issued {
		d.issued[tenth] += n
		d.allowed[tenth] += allowed[tenth]
	}
	d.leased += leased
	d.slowest = max(d.slowest, slowest)
}

// checkBucket looks at all stretches of tenths. What is possible is what has flowed in at the
// beginning of each tenth.
func (d *demand) checkBucket(t *testing.T, used bool) {
	rule, first, last := d.limit.rule, int64(math.MaxInt64), int64(0)
	for tenth := range d.issued {
		first, last = min(first, tenth), max(last, tenth)
	}
	late := 1 + int64(d.slowest/(rule.Window/10)) // a call may get its tokens in a later tenth
	got, possible, level := int64(0), int64(0), rule.Quota
	for tenth := first; tenth <= last; tenth++ {
		sum := int64(0)
		for to := tenth; to <= last; to++ {
			sum += d.allowed[to]
			require.LessOrEqual(t, sum, rule.Quota+rule.Quota*(to-tenth+1+late)/10, "%s: tenths %d to %d", d.name, tenth, to)
		}
		could := min(level, d.issued[tenth])
		level = min(rule.Quota, level-could+rule.Quota/10)
		got, possible = got+d.allowed[tenth], possible+could
	}
	t.Logf("%s: %d of %d, leased %d", d.name, got, possible, d.leased)
	if used {
		require.GreaterOrEqual(t, float64(got), leastUse*float64(possible), d.name)
	}
}

func (d *demand) check(t *testing.T, used bool) {
	if d.limit.rule.Algorithm == TokenBucket {
		d.checkBucket(t, used)
	} else {
		d.checkWindows(t, used)
	}
}

// checkWindows looks at the windows after the first one. What is possible
// in a sliding window is what its share of the window before leaves at the beginning of each
// tenth.
func (d *demand) checkWindows(t *testing.T, used bool) {
	first, last := int64(math.MaxInt64), int64(0)
	for tenth := range d.issued {
		first, last = min(first, tenth/10), max(last, tenth/10)
	}
	got, possible := int64(0), int64(0)
	for number := first; number <= last; number++ {
		allowed, could, before := int64(0), int64(0), int64(0)
		for tenth := range int64(10) {
			before += d.allowed[number*10-10+tenth]
		}
		if d.limit.rule.Algorithm != SlidingWindow {
			before = 0
		}
		for tenth := range int64(10) {
			at, most := number*10+tenth, d.limit.rule.Quota
			allowed += d.allowed[at]
			could = max(could, min(could+d.issued[at], most-before*(10-tenth)/10))
			require.LessOrEqual(t, allowed, most-before*(9-tenth)/10, "%s: window %d, tenth %d", d.name, number, tenth)
		}
		if number > first && number < d.end {
			got, possible = got+allowed, possible+could
		}
	}
	t.Logf("%s: %d of %d, leased %d", d.name, got, possible, d.leased)
	if used {
		require.GreaterOrEqual(t, float64(got), leastUse*float64(possible), d.name)
	}
}
