//go:build go1.26

package sim

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"runtime/debug"
	"testing"
	"testing/cryptotest"
)

var variant = flag.Int("sim.variant", -1, "of internal/sim/still: the `number` of the variant of the seed")

// TestStill runs one world, of which internal/sim/still makes each run the same.
func TestStill(t *testing.T) {
	if *variant < 0 {
		t.Skip("see internal/sim/still")
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(math.MaxInt64)
	cryptotest.SetGlobalRandom(t, *from)
	drawn = *variant
	f, h := Run(t, *from)
	sum := fnv.New64a()
	if h != nil {
		for i := range h.Log {
			e := &h.Log[i]
			_, _ = fmt.Fprintln(sum, e.At, e.Node, e.Conn, e.Text, e.Reply)
		}
	}
	if f != nil {
		_, _ = fmt.Fprintln(sum, f.Judge, f.Sentence)
		t.Errorf("%v\n%s", f, f.Around())
	}
	fmt.Printf("history %016x\n", sum.Sum64())
}
