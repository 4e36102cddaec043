//go:build race

package wire

// raceDetector is whether the tests run with it: sync.Pool then loses what it is
// given, at random.
const raceDetector = true
