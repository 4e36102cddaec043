package share

import "time"

// fresh has the tokens that new assignments began with, in the order of time. A client that
// gets another assignment may have used all tokens of the one before, and begins with new ones.
type fresh struct{ entries []entry }

type entry struct {
	at     time.Time
	tokens int64
}

// add notes tokens. Those of a short time are one entry, so that there are few.
func (f *fresh) add(now time.Time, tokens int64, span time.Duration) {
	if n := len(f.entries); n > 0 && now.Sub(f.entries[n-1].at) < span/256 {
		f.entries[n-1].tokens += tokens
		f.entries[n-1].at = now
		return
	}
	f.entries = append(f.entries, entry{now, tokens})
}

// sum returns the tokens since the time, and forgets those before.
func (f *fresh) sum(since time.Time) (sum int64) {
	for len(f.entries) > 0 && !f.entries[0].at.After(since) {
		f.entries = f.entries[1:]
	}
	for _, e := range f.entries {
		sum += e.tokens
	}
	return sum
}

// peak is the most that was in force at a time within a span.
type peak struct {
	value int64
	at    time.Time // when it was the last time
	last  int64     // what was in force when note was called
}

func (p *peak) note(now time.Time, inForce int64, span time.Duration) {
	if p.last >= p.value {
		p.at = now // it was until now
	}
	if inForce >= p.value || now.Sub(p.at) >= span {
		p.value, p.at = inForce, now
	}
	p.last = inForce
}
