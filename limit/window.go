package limit

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// A window is where a moment lies among the windows of a limit.
type window struct {
	length  time.Duration
	number  int64         // since the beginning of Unix time
	elapsed time.Duration // since it began
}

func windowAt(now time.Time, length time.Duration) window {
	n := now.UnixNano()
	w := window{length: length, number: n / int64(length), elapsed: time.Duration(n % int64(length))}
	if w.elapsed < 0 { // before 1970
		w.number--
		w.elapsed += length
	}
	return w
}

func (w window) left() time.Duration { return w.length - w.elapsed }

// share returns which part of n hits in the window before still counts, rounded
// down.
func (w window) share(n int64) int64 {
	if n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(w.left()))
	q, _ := bits.Div64(hi, lo, uint64(w.length))
	return int64(q)
}

// untilShareIs returns when, counted from the window's beginning, no more than most
// of n hits in the window before count any more; most must not be negative.
func (w window) untilShareIs(n, most int64) time.Duration {
	if n <= most {
		return 0
	}
	// The share is at most most as soon as n*left < (most+1)*length.
	hi, lo := bits.Mul64(uint64(most)+1, uint64(w.length))
	q, r := bits.Div64(hi, lo, uint64(n))
	left := time.Duration(q)
	if r == 0 {
		left--
	}
	return w.length - left
}

// ttl returns the time to live of a key that is needed until the end of so many windows, this
// one included, and for calls that take the budget. If it expired before them, it would count
// from 0 again. It is whole seconds, for which EXPIRE is enough: users may have no right to PEXPIRE.
func (w window) ttl(windows int, budget time.Duration) time.Duration {
	least := w.left() + time.Duration(windows-1)*w.length
	ttl := least + budget + slack + rand.N(w.length/spread+1)
	return (ttl + time.Second - 1).Truncate(time.Second)
}
