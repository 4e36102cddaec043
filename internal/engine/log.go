package engine

import (
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
)

// noteRefreshed tells of refreshes that fail, and of the first one that succeeds again.
func (r *refresher) noteRefreshed(err error) {
	now := time.Now()
	switch {
	case err == nil && !r.since.IsZero():
		r.client.log.Note(guard.RefreshSucceeded, now.Sub(r.since))
		r.since = time.Time{}
		r.failed.Over()
	case err == nil || r.client.ctx.Err() != nil:
	default:
		if r.since.IsZero() {
			r.since = now
		}
		if n, due := r.failed.Due(now); due {
			r.client.log.Note(guard.RefreshFailed, n, err)
		}
		r.client.log.Panicked(err)
	}
}

// noteMoved tells of slots that have other owners than by the map that it told of last.
// While slots move all the time, that is one line in five seconds at most.
func (r *refresher) noteMoved() {
	after := r.client.topology.Load()
	if r.told == nil {
		r.told = after // the first map
		return
	}
	change := slots.Diff(r.told, after)
	if change.Moved == 0 {
		return
	}
	if _, due := r.moved.Due(time.Now()); due {
		r.told = after
		r.client.log.Note(guard.SlotsMoved, change.Moved)
	}
}
