package sim

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/race"
)

// A client that lives through many troubles needs no more memory than before.
func TestMemoryDoesNotGrow(t *testing.T) {
	seeds, rounds := []uint64{0, 1}, 8
	if testing.Short() || race.Enabled {
		seeds, rounds = []uint64{2}, 4 // a world that takes half the time
	}
	for _, seed := range seeds {
		var heaps []uint64
		synctest.Test(t, func(t *testing.T) {
			w := &world{settings: choose(seed)}
			w.settings.Limiter.NearCache = 32 // which is full after the first round
			w.rec.begin()
			w.build()
			defer w.net.Close()
			require.NoError(t, w.connect())
			w.seed = 1000 * seed
			for range rounds {
				w.seed++
				w.schedule = scheduleOf(w.seed)
				w.rec.begin()
				w.run()
				w.rec.begin()
				time.Sleep(5 * time.Minute) // keys of the limiter's windows live for a minute or two
				w.model.Sweep()
				heaps = append(heaps, heap())
			}
			w.end()
		})
		// The first round makes what is used again and again.
		half := (rounds + 1) / 2
		early, late := slices.Min(heaps[1:half]), slices.Min(heaps[half:])
		require.LessOrEqual(t, late, early+3<<19, "bytes after each round of ten minutes: %v", heaps)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
