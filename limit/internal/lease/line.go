package lease

import (
	"math"
	"time"

	"github.com/redislanes/redislanes/limit/internal/bucket"
)

// A Line is the tokens of a bucket that a lease has. Each is a stretch of time, in which the
// bucket gets a token. Once that has begun, the token of the lease is gone: a full bucket would
// have had no room for it. No token is kept for more than [bucket.Held]. A nil Line, of a lease of a window, has none. It is not safe for
// concurrent use.
type Line struct {
	per       float64 // nanoseconds of a token
	stretches []Stretch
}

// A Stretch is tokens that follow one another.
type Stretch struct {
	At   time.Duration // when it begins
	From bucket.Start  // the same by the server's clock
	N    int64         // how many tokens
	Ends time.Duration // when they are gone, at the latest
}

// NewLine returns a line whose tokens are that long, in nanoseconds.
func NewLine(per float64) *Line { return &Line{per: per} }

// Per returns how many nanoseconds a token is; 0 for a nil Line.
func (l *Line) Per() float64 {
	if l == nil {
		return 0
	}
	return l.per
}

// Add adds a stretch. It returns how many tokens of others are given up for it.
func (l *Line) Add(s Stretch) (gone int64) {
	if len(l.stretches) == mostStretches {
		gone = l.cut(0, l.stretches[0].N)
	}
	l.stretches = append(l.stretches, s)
	return gone
}

// cut takes tokens off the beginning of a stretch, and returns how many.
func (l *Line) cut(i int, n int64) int64 {
	s := &l.stretches[i]
	ahead := float64(n) * l.per
	s.At, s.From.At, s.N = s.At+time.Duration(ahead), s.From.At+int64(ahead/1000), s.N-n
	if s.N == 0 {
		l.stretches = append(l.stretches[:i], l.stretches[i+1:]...)
	}
	return n
}

// Expire returns how many tokens are gone by now, and takes them off.
func (l *Line) Expire(at time.Duration) (gone int64) {
	if l == nil {
		return 0
	}
	for i := len(l.stretches) - 1; i >= 0; i-- {
		switch s := &l.stretches[i]; {
		case s.Ends < at:
			gone += l.cut(i, s.N)
		case s.At < at:
			n := math.Ceil(float64(at-s.At) / l.per)
			gone += l.cut(i, int64(min(n, float64(s.N))))
		}
	}
	return gone
}

// Take takes tokens, of which the line must have as many. It returns a stretch for
// [Line.Give]. If they are of several stretches, it begins with the earliest one: a token that is
// given back too early flows in too early, but one that is given back too late is there twice.
func (l *Line) Take(n int64) (taken Stretch) {
	if l == nil {
		return taken
	}
	taken = l.stretches[0]
	for taken.N = n; n > 0; {
		s := l.stretches[0]
		taken.Ends = min(taken.Ends, s.Ends)
		if s.At < taken.At {
			taken.At, taken.From = s.At, s.From
		}
		n -= l.cut(0, min(n, s.N))
	}
	return taken
}

// Give puts tokens back that were taken. They join the first stretch, which begins no later
// then.
func (l *Line) Give(s Stretch) {
	switch {
	case l == nil:
		return
	case len(l.stretches) == 0:
		l.stretches = append(l.stretches, s)
		return
	}
	first := &l.stretches[0]
	first.Ends = min(first.Ends, s.Ends)
	if first.N += s.N; s.At < first.At {
		first.At, first.From = s.At, s.From
	}
}

// Drop takes tokens off the end, of which the line must have as many, and returns them.
func (l *Line) Drop(n int64) (dropped []Stretch) {
	for l != nil && n > 0 {
		last := &l.stretches[len(l.stretches)-1]
		some := min(n, last.N)
		ahead := float64(last.N-some) * l.per
		from := last.From
		from.At += int64(ahead / 1000)
		dropped = append(dropped, Stretch{At: last.At + time.Duration(ahead), From: from, N: some, Ends: last.Ends})
		if n, last.N = n-some, last.N-some; last.N == 0 {
			l.stretches = l.stretches[:len(l.stretches)-1]
		}
	}
	return dropped
}
