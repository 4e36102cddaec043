package wire

import "time"

// A write and the read of its replies cost the processors here and at the server more
// than the commands of a small batch. So while many batches are under way, those behind
// them wait until they are a quarter as many. Nobody watches a clock for that: the
// replies that arrive make it true, and whoever reads them has the rest written. A
// server answers a connection's commands in their order, so what waits would have its
// turn no sooner by more than a round trip: only lanes to servers that are near gather.
const (
	// While fewer batches than that have been handed to the socket, nothing waits.
	gatherFrom = 16
	// What waits is written when it is such a part of what was handed to the socket.
	gatherPart = 4
	// So many bytes are enough whatever else is under way; it is a record of TLS. So is
	// half of what may wait: a lane that is full of what gathers would refuse the rest.
	gatherBytes = 16 << 10
	// A server is near if the shortest of a lane's trips took less.
	nearTrip = time.Millisecond
)

// gatheredLocked reports whether what waits is to be written now. Once false, it becomes
// true only when a batch is enqueued or complete; see [Lane.mayWrite].
func (l *Lane) gatheredLocked() bool {
	handed := int(l.gauge.InFlight.Load()) - l.waiting
	return l.waiting > 0 &&
		(handed < gatherFrom || l.waiting*gatherPart >= handed || len(l.wbuf) >= min(gatherBytes, l.maxQueued/2) || !l.near())
}

// near reports whether a trip may be short, as far as is known.
func (l *Lane) near() bool {
	shortest := l.shortest.Load()
	return shortest > 0 && shortest < int64(nearTrip)
}

// mayWrite gives the reader, by whom so many batches have become complete, the role of
// the writer if those that wait are to be written for that, and nobody else has it.
func (l *Lane) mayWrite(completed int) bool {
	if completed == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing || l.err != nil || !l.gatheredLocked() {
		return false
	}
	l.writing = true
	return true
}
