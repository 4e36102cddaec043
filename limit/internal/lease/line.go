package lease

import (
	"math"
	"time"

	"github.com/redislanes/redislanes/limit/internal/bucket"
)

// A line is the tokens of a bucket that a lease has. The bucket gets each of them back in a stretch of time. When that
// begins, the lease loses the token: a full bucket would have had no room for it. No token is kept for more than
// [bucket.Held]. The line of a window's lease is empty.
type line []Stretch

// A Stretch is tokens of a bucket whose times follow one another, or hits in a window: these have nothing but N.
type Stretch struct {
	N    int64         // how many
	Per  float64       // nanoseconds in which the bucket gets a token
	At   time.Duration // when the time of the first token begins
	From bucket.Start  // the same by the server's clock
	Ends time.Duration // when the lease loses all of them, at the latest
}

// add adds a stretch.
func (l *line) add(s Stretch) {
	if s.Per > 0 {
		*l = append(*l, s)
	}
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

// expire takes off the tokens whose time has begun, and returns how many.
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

// take takes tokens from the first stretches into taken. The line must have as many. What is taken begins with the
// earliest of their times: tokens that are given back with too early a time are lost too early, but with too late a
// time they are there twice.
func (l *line) take(n int64, taken *Stretch) {
	if len(*l) == 0 {
		*taken = Stretch{N: n}
		return
	}
	*taken = (*l)[0]
	for taken.N = n; n > 0; {
		s := &(*l)[0]
		taken.Ends = min(taken.Ends, s.Ends)
		if s.At < taken.At {
			taken.At, taken.From = s.At, s.From
		}
		n -= l.cut(0, min(n, s.N))
	}
}

// give puts tokens back that were taken. They join the first stretch, which begins no later then.
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

// drop takes tokens off the end, and returns them. The line must have as many.
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
