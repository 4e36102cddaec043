// Package window says in which window of a limit a moment lies: in windows of a fixed length, or
// in periods of the calendar of a time zone.
package window

import (
	"math/bits"
	"time"
)

// A Window is where a moment lies among the windows of a limit.
type Window struct {
	Number  int64         // increases from window to window
	Length  time.Duration // of this window
	Elapsed time.Duration // since it began
}

// At returns the window of now if windows of this length follow one another from the beginning of
// Unix time on.
func At(now time.Time, length time.Duration) Window {
	n, each := now.UnixNano(), int64(length)
	number := floor(n, each) // there is a time before 1970
	return Window{Number: number, Length: length, Elapsed: time.Duration(n - number*each)}
}

// Left returns the time until the window ends.
func (w Window) Left() time.Duration { return w.Length - w.Elapsed }

// Share returns which part of n hits in the window before still counts, rounded down.
func (w Window) Share(n int64) int64 {
	if n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(w.Left()))
	q, _ := bits.Div64(hi, lo, uint64(w.Length))
	return int64(q)
}

// UntilShareIs returns when, counted from the window's beginning, no more than most of n hits in
// the window before count any more; most must not be negative.
func (w Window) UntilShareIs(n, most int64) time.Duration {
	if n <= most {
		return 0
	}
	// The share is at most most as soon as n*left < (most+1)*length.
	hi, lo := bits.Mul64(uint64(most)+1, uint64(w.Length))
	q, r := bits.Div64(hi, lo, uint64(n))
	left := time.Duration(q)
	if r == 0 {
		left--
	}
	return w.Length - left
}
