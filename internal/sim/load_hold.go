package sim

import (
	"fmt"
	"sync"
	"time"
)

// Places that callers hold, of which a semaphore allows few at a time.
const (
	placesName  = "places"
	mostHolders = 3
)

// A Hold is a place that was taken.
type Hold struct {
	Key      string
	From, To time.Duration // until it was released, or known to be lost
}

// hold has several callers take places of a key, hold them for a while, and release them.
func (a *attempt) hold() {
	a.Limit = 0 // each of them waits for the limiter's budget
	key := fmt.Sprint("place", a.r.IntN(2))
	var callers sync.WaitGroup
	for range 4 {
		lasts := time.Duration(a.r.Int64N(int64(6 * time.Second)))
		callers.Go(func() {
			place, d := a.w.places.Acquire(a.ctx, key)
			if place == nil {
				_ = a.w.frozen(d.Err)
				return
			}
			held := Hold{Key: key, From: a.w.rec.now()}
			select {
			case <-time.After(lasts):
			case <-place.Lost():
			}
			held.To = a.w.rec.now()
			place.Release()
			a.w.rec.note(func(h *History) { h.Holds = append(h.Holds, held) })
		})
	}
	callers.Wait()
}
