// Package race tells tests whether the race detector is on. With it, a test takes several
// times as long, and sync.Pool loses what it is given, at random. So tests take fewer rounds,
// and allow for allocations. CI runs what needs no servers without it, too.
package race

// Rounds returns how many rounds a test takes: with the race detector, or without it.
func Rounds(without, with int) int {
	if Enabled {
		return with
	}
	return without
}
