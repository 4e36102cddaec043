package wire

import "time"

// epoch is what Now counts from.
var epoch = time.Now()

// Now returns how much time has passed since some moment before the first call. It
// costs half of what time.Now does, which reads two clocks.
func Now() time.Duration { return time.Since(epoch) }

// How long a lane's trips take is measured by one batch now and then, when
// somebody has asked for it: to read the clock for each would cost more than to
// enqueue it.

// What a lane's clock does.
const (
	clockStopped int32 = iota
	clockArmed         // the next batch is to be timed
	clockRunning       // one is being timed
)

// Trip returns how long the batch took that was timed last, from its being
// enqueued to its last reply; 0 if none was since Trip was last called. It makes
// the lane time the next batch that it takes. It is for the one who looks after
// the lane, its pool.
func (l *Lane) Trip() time.Duration {
	l.clock.CompareAndSwap(clockStopped, clockArmed)
	return time.Duration(l.trip.Swap(0))
}

// startClockLocked times the batch, which is being enqueued.
func (l *Lane) startClockLocked(b *Batch) {
	b.began = time.Now()
	l.clock.Store(clockRunning)
}

// stopClock notes how long the batch took, which has all its replies.
func (l *Lane) stopClock(b *Batch) {
	took := max(1, int64(time.Since(b.began)))
	l.trip.Store(took)
	if s := l.shortest.Load(); s == 0 || took < s {
		l.shortest.Store(took)
	}
	l.clock.Store(clockStopped)
}
