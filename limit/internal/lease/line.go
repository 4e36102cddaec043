package lease

import (
	"math"
	"time"

	"github.com/redislanes/redislanes/limit/internal/bucket"
)

// A line is the tokens of a bucket that a lease has. Each is a stretch of time, in which the
// bucket gets a token. Once that has begun, the token of the lease is gone: a full bucket would
// have had no room for it. No token is kept for more than [bucket.Held]. The line of a window's lease is empty.
type line []Stretch

// A Stretch is tokens of a bucket that follow one another, or hits in a window: these have nothing but N.
type Stretch struct {
	N    int64         // how many
	Per  float64       // nanoseconds of a token
	At   time.Duration // when it begins
	From bucket.Start  // the same by the server's clock
	Ends time.Duration // when its tokens are gone, at the latest
}

// mostStretches is how many stretches a line has at most.
const mostStretches = 8

// add adds a stretch. It returns how many tokens of others are given up for it.
func (l *line) add(s Stretch) (gone int64) {
	if s.Per == 0 {
		return 0
	}
	if len(*l) == mostStretches {
		gone = l.cut(0, (*l)[0].N)
	}
	*l = append(*l, s)
	return gone
}

// flow returns how many tokens flow away in a time.
func (l *line) flow(t time.Duration) int64 {
	if len(*l) == 0 {
		return 0
	}
	return int64(float64(t) / (*l)[0].Per)
}

// cut takes tokens off the beginning of a stretch, and returns how many.
func (l *line) cut(i int, n int64) int64 {
	s := &(*l)[i]
	ahead := float64(n) * s.Per
	s.At, s.From.At, s.N = s.At+time.Duration(ahead), s.From.At+int64(ahead/1000), s.N-n
	if s.N == 0 {
		*l = append((*l)[:i], (*l)[i+1:]...)
	}
	return n
}

// expire takes off the tokens that are gone by now, and returns how many.
func (l *line) expire(at time.Duration) (gone int64) {
	for i := len(*l) - 1; i >= 0; i-- {
		switch s := &(*l)[i]; {
		case s.Ends < at:
			gone += l.cut(i, s.N)
		case s.At < at:
			n := math.Ceil(float64(at-s.At) / s.Per)
			gone += l.cut(i, int64(min(n, float64(s.N))))
		}
	}
	return gone
}

// take takes tokens, of which the line must have as many. If they are of several stretches, what it
// returns begins with the earliest one: a token that is given back too early flows in too early, but one that is
// given back too late is there twice.
func (l *line) take(n int64) (taken Stretch) {
	if len(*l) == 0 {
		return Stretch{N: n}
	}
	taken = (*l)[0]
	for taken.N = n; n > 0; {
		s := (*l)[0]
		taken.Ends = min(taken.Ends, s.Ends)
		if s.At < taken.At {
			taken.At, taken.From = s.At, s.From
		}
		n -= l.cut(0, min(n, s.N))
	}
	return taken
}

// give puts tokens back that were taken. They join the first stretch, which begins no later
// then.
func (l *line) give(s Stretch) {
	switch {
	case s.Per == 0:
		return
	case len(*l) == 0:
		*l = append(*l, s)
		return
	}
	first := &(*l)[0]
	first.Ends = min(first.Ends, s.Ends)
	if first.N += s.N; s.At < first.At {
		first.At, first.From = s.At, s.From
	}
}

// drop takes tokens off the end, of which the line must have as many, and returns them.
func (l *line) drop(n int64) (dropped []Stretch) {
	if len(*l) == 0 && n > 0 {
		return []Stretch{{N: n}}
	}
	for n > 0 {
		last := &(*l)[len(*l)-1]
		some := *last
		some.N = min(n, last.N)
		ahead := float64(last.N-some.N) * last.Per
		some.At, some.From.At = last.At+time.Duration(ahead), last.From.At+int64(ahead/1000)
		dropped = append(dropped, some)
		if n, last.N = n-some.N, last.N-some.N; last.N == 0 {
			*l = (*l)[:len(*l)-1]
		}
	}
	return dropped
}
