package sim

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/redistest/sim"
)

var (
	seeds = flag.Int("sim.seeds", 0, "how many `seeds` are run")
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
	var leased atomic.Int64 // worlds in which a lease has decided
	t.Run("seed", func(t *testing.T) {
		for i := range uint64(n) {
			seed := *from + i
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				ended := watch(seed)
				f := Run(t, seed)
				ended()
				if f.Judge != "" {
					report(t, f)
				} else if f.History.leased() {
					leased.Add(1)
				}
			})
		}
	})
	require.Positive(t, leased.Load())
}

func (h *History) leased() bool {
	return slices.ContainsFunc(h.Allowances, func(x *Allowance) bool { return x.Asks[0].Leased })
}

// watch ends the process if a world does not end, and says what it is doing: what goes
// round without a pause while the clock stands still takes all memory within a minute. It
// returns what ends the watch.
func watch(seed uint64) (end func()) {
	const enough = time.Minute // of real time: beside other work a world may take seconds
	timer := time.AfterFunc(enough, func() {
		fmt.Fprintf(os.Stderr, "seed %d: the world has not ended after %v of real time\n", seed, enough)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		os.Exit(1)
	})
	return func() { timer.Stop() }
}

// report tells of a failure, and which of its faults are enough.
func report(t *testing.T, f *Failure) {
	t.Helper()
	fmt.Fprintf(os.Stderr, "seed %d, %s: %s\n", f.Seed, f.Judge, short(f.Sentence))
	t.Errorf("%v\n%s", f, f.Around())
	left := sim.Shorten(f.Faults, func(some []Fault) bool { return f.With(t, some) })
	t.Logf("seed %d: these faults are enough (%d of %d):", f.Seed, len(left), len(f.Faults))
	for _, fault := range left {
		t.Logf("  %v", fault)
	}
}
