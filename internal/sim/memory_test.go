package sim

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A client that lives through many troubles needs no more memory than before.
func TestMemoryDoesNotGrow(t *testing.T) {
	seeds, rounds := uint64(2), uint64(6)
	if testing.Short() || raced {
		seeds, rounds = 1, 4
	}
	for seed := range seeds {
		var heaps []uint64
		synctest.Test(t, func(t *testing.T) {
			w := &world{settings: choose(seed)}
			w.rec.began = time.Now()
			w.build()
			defer w.net.Close()
			require.NoError(t, w.connect())
			for round := range rounds {
				w.seed = 1000*seed + round
				w.schedule = plan(source(w.seed, ofSchedule, 0), allKinds())
				w.rec.began, w.rec.h = time.Now(), History{}
				w.run()
				w.rec.h = History{}
				heaps = append(heaps, heap())
			}
			w.end()
		})
		early, late := slices.Min(heaps[:rounds/2]), slices.Min(heaps[rounds/2:])
		require.LessOrEqual(t, late, early+512<<10, "bytes after each round of ten minutes: %v", heaps)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
