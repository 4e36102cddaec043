package sim

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redislanes/redislanes/internal/race"
)

var (
	seeds = flag.Int("sim.seeds", 0, "how many `seeds` are run")
	first = flag.Bool("sim.first", false, "only tell what fails first, and shrink nothing")
	from  = flag.Uint64("sim.from", 1, "the first `seed`")
)

func init() {
	flag.BoolVar(&Trace, "sim.trace", false, "print the errors and the log of the clients")
}

// TestWorlds runs seeds, each in a world of its own.
func TestWorlds(t *testing.T) {
	n := *seeds
	switch {
	case n > 0:
	case race.Enabled:
		n = 3
	default:
		n = 8
	}
	p := newProgress(n)
	defer p.end()
	t.Run("seed", func(t *testing.T) {
		for i := range uint64(n) {
			seed := *from + i
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				defer p.ended.Add(1)
				ended := watch(seed)
				f, h := Run(t, seed)
				ended()
				p.reached(h)
				if f != nil && !p.failed.Swap(true) {
					fmt.Fprintf(os.Stderr, "first failure: seed %d, after %d others, %s: %s\n", seed, p.ended.Load(), f.Judge, short(f.Sentence))
				}
				if f != nil {
					report(t, f)
				}
			})
		}
	})
	if few := p.few(); few != "" {
		t.Error(few)
	}
}

// watch ends the process if a world does not end, and says what it is doing: what goes
// round without a pause while the clock stands still takes all memory within a minute. It
// returns what ends the watch.
func watch(seed uint64) (end func()) {
	const enough = time.Minute // of real time: beside other work a world may take seconds
	timer := time.AfterFunc(enough, func() {
		fmt.Fprintf(os.Stderr, "first failure: seed %d, returns: the world has not ended after %v of real time\n", seed, enough)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		os.Exit(1)
	})
	return func() { timer.Stop() }
}

// report tells of a failure, and which of its faults are enough.
func report(t *testing.T, f *Failure) {
	t.Helper()
	t.Errorf("%v\n%s", f, f.Around())
	if *first {
		return
	}
	left := f.Shrunk(t)
	t.Logf("seed %d: these faults are enough (%d of %d):", f.Seed, len(left), len(f.Faults))
	for _, fault := range left {
		t.Logf("  %v", fault)
	}
}

// progress says now and then how far the seeds are.
type progress struct {
	seeds   int
	start   time.Time
	ended   atomic.Int64
	failed  atomic.Bool
	reach   [4]atomic.Int64 // how many have something
	told    *time.Ticker
	stopped chan struct{}
}

func newProgress(n int) *progress {
	p := &progress{seeds: n, start: time.Now(), told: time.NewTicker(5 * time.Second), stopped: make(chan struct{})}
	go func() {
		for {
			select {
			case <-p.stopped:
				return
			case <-p.told.C:
				fmt.Fprintf(os.Stderr, "%d of %d seeds in %v\n", p.ended.Load(), p.seeds, time.Since(p.start).Round(time.Second))
			}
		}
	}()
	return p
}

// reached counts what the world has.
func (p *progress) reached(h *History) {
	if h == nil {
		return
	}
	leased, settled := false, false
	for _, x := range h.Allowances {
		for _, a := range x.Asks {
			leased, settled = leased || a.Leased, settled || a.Settled != nil && a.Settled.Err == nil
		}
	}
	for i, yes := range []bool{true, leased, settled, len(h.Holds) > 0} {
		if yes {
			p.reach[i].Add(1)
		}
	}
}

// few says which of the limiter's means too few worlds use, for judges to mean something.
func (p *progress) few() string {
	of := p.reach[0].Load()
	said := fmt.Sprintf("of %d worlds %d have leases, %d settled reservations, %d places", of, p.reach[1].Load(), p.reach[2].Load(), p.reach[3].Load())
	fmt.Fprintln(os.Stderr, said)
	for i := range p.reach {
		if of >= 20 && p.reach[i].Load() < of*2/3 {
			return said + ": want two thirds of each"
		}
	}
	return ""
}

func (p *progress) end() { p.told.Stop(); close(p.stopped) }
