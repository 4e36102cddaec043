package simnet

// occupy takes the link for so long, as soon as it is free, and returns the end.
func (l *link) occupy(w Way, now, took int64) int64 {
	for busy := &l.busy[w-1]; ; {
		was := busy.Load()
		until := max(was, now) + took
		if busy.CompareAndSwap(was, until) {
			return until
		}
	}
}

// pace makes what the link is taken for go at another bandwidth.
func (l *link) pace(now int64, bandwidth int) {
	for i := range l.busy {
		l.busy[i].Store(paced(l.busy[i].Load(), now, l.bandwidth, bandwidth))
	}
	l.bandwidth = bandwidth
}

// paceLocked makes what has not arrived go at another bandwidth.
func (s *stream) paceLocked(now int64, was, is int) {
	if was == is || was == 0 {
		return
	}
	s.advanceLocked(now)
	from := now + int64(s.wire.conditions.Latency)
	for i := s.first; i < len(s.marks); i++ {
		s.marks[i].at = paced(s.marks[i].at, from, was, is)
	}
	for _, at := range []*int64{&s.last, &s.fin, &s.rst} {
		if *at != never {
			*at = paced(*at, from, was, is)
		}
	}
}

// paced returns when something is over at the bandwidth is that would have been
// over at some time at the bandwidth was; 0 is no limit.
func paced(at, now int64, was, is int) int64 {
	switch {
	case was == is || was == 0 || at <= now:
		return at
	case is == 0:
		return now
	}
	return now + int64(float64(at-now)*float64(was)/float64(is))
}
