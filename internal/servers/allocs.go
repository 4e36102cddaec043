package servers

import "testing"

// LeastAllocs returns how often one call of f allocates, of up to five measurements the least: one
// that is not above enough is the last. A client's goroutines allocate now and then for themselves,
// more often the slower the machine is. What f itself allocates is in each of them.
func LeastAllocs(runs int, enough float64, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for range 4 {
		if least <= enough {
			break
		}
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
