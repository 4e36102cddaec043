package wire

// Drain closes the lane because of err when nothing is in flight any more. Until then it takes
// no new batches, so no command's outcome becomes unknown. To look whether the lane is quiet and
// then to close it is not the same: a batch may come in between.
func (l *Lane) Drain(err error) {
	l.mu.Lock()
	l.leaving.CompareAndSwap(nil, &err)
	idle := l.gauge.InFlight.Load() == 0
	l.mu.Unlock()
	if idle {
		l.Fail(err)
	}
}

// emptied is called when nothing was in flight any more. A batch may have come since, also before
// a Drain, so that looks again.
func (l *Lane) emptied() {
	l.rest()
	if why := l.leaving.Load(); why != nil {
		l.Drain(*why)
	}
}

// Fail closes the lane because of err. Batches in flight end with err as the
// cause: not sent, or with an unknown outcome, by command.
func (l *Lane) Fail(err error) {
	l.refuse(err)
	l.end()
}

// refuse makes the lane take nothing more, because of err. Fail must follow.
func (l *Lane) refuse(err error) {
	l.mu.Lock()
	l.failLocked(err)
	l.mu.Unlock()
}

// failLocked makes the lane take nothing more, because of err. It reports whether
// that was not so before; then end must be called.
func (l *Lane) failLocked(err error) (first bool) {
	if l.err == nil {
		l.err, first = err, true
	}
	return first
}

// end closes the connection of a lane that has failed.
func (l *Lane) end() {
	l.mu.Lock()
	first := !l.shut
	l.shut = true
	l.mu.Unlock()
	if first {
		_ = l.conn.Close() // which does not wait: see relay
		close(l.closed)
	}
	l.settle()
}

// settle ends all batches of a closed lane, once nobody reads or writes any
// more: until then, the count of bytes handed to the socket may still change,
// and replies may still arrive.
func (l *Lane) settle() {
	l.replyMu.Lock()
	l.mu.Lock()
	busy := l.writing || l.reader == caller || l.reader == background
	if l.err == nil || busy || l.settled {
		l.mu.Unlock()
		l.replyMu.Unlock()
		return
	}
	l.settled = true
	l.reader, l.claimant = nobody, nil
	err, handed := l.err, l.handed
	first := l.oldest
	if first == nil {
		first = l.head
	} else {
		last := first
		for last.next != nil {
			last = last.next
		}
		last.next = l.head
	}
	l.oldest, l.head, l.tail = nil, nil, nil
	l.wbuf, l.spare = nil, nil
	l.mu.Unlock()
	if first != nil && !first.done {
		first.due = true
	}
	for b := first; b != nil; b = b.next {
		if !b.done {
			b.fail(l.addr, err, b.handedAt(handed))
		}
	}
	l.replyMu.Unlock()
	for b := first; b != nil; {
		next := b.next
		b.next = nil
		l.gauge.InFlight.Add(-1)
		l.complete(b)
		b = next
	}
	l.events.Closed(l)
}

// A server may close idle connections (CONFIG SET timeout, CLIENT KILL), or a proxy may. A command
// that is written after that ends with an unknown outcome. If nobody reads from the lane, it does
// not notice, and a background reader may notice too late. So before the first batch after an idle
// time the lane asks its socket whether the other side has closed it: one system call. A busy lane
// makes no such call.
//
// Over TLS, the lane asks the socket below TLS. Bytes that are still to be read there hide the end.

// rest notes that nothing is in flight any more.
func (l *Lane) rest() { l.restedAt.Store(int64(Now())) }

// Usable reports whether the lane takes batches. It asks the socket, as each first batch after an
// idle time does.
func (l *Lane) Usable() bool {
	queued, gone := l.hungUp()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteGoneLocked(queued, gone)
	return l.err == nil && l.leaving.Load() == nil
}

// noteGoneLocked closes the lane because of what hungUp has returned.
func (l *Lane) noteGoneLocked(queued uint64, gone error) {
	if gone != nil && l.queued == queued && l.failLocked(gone) {
		go l.end() // which tells the pool, whose lock the caller may hold
	}
}

// hungUp returns why an idle lane is of no use, nil if nothing is known against it. It is so unless
// more bytes of the stream have been enqueued than were by then.
func (l *Lane) hungUp() (queued uint64, gone error) {
	if l.gauge.InFlight.Load() > 0 || int64(Now())-l.restedAt.Load() < int64(idleLeast) {
		return 0, nil
	}
	l.mu.Lock()
	idle, queued := l.gauge.InFlight.Load() == 0, l.queued
	l.mu.Unlock()
	if !idle {
		return 0, nil
	}
	_, gone = l.outlet().ended()
	return queued, gone
}
