package servers

import "testing"

// LeastAllocs returns how often one call of f allocates, of several measurements the least. A
// client's goroutines allocate now and then for themselves, more often the slower the machine is.
// What f itself allocates is in each of them.
func LeastAllocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for range 4 {
		if least == 0 {
			break
		}
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
