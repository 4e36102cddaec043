package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// kept is the name of a rule with one window for the whole world: what is counted at its end
// is what callers were allowed, with reservations as they were settled.
const (
	kept       = "kept"
	keptWindow = time.Hour
)

// A Settling is how a reservation was settled.
type Settling struct {
	Actual int64
	Err    error // of Settle: not all of it may be settled
}

// Kept is what is counted of the rule kept when the limiter is closed.
type Kept struct {
	Counted map[string]int64 // by key
	Lost    int64            // as the limiter says
}

// A ledger adds up what a limiter says of hits.
type ledger struct{ lost atomic.Int64 }

func (l *ledger) Decided(time.Duration, []limit.Request, limit.Result) {}

func (l *ledger) Hits(of *limit.Limit, what string, n int64) {
	if what == "lost" && of.Rule().Name == kept {
		l.lost.Add(n)
	}
}

// reservations has several callers reserve hits, work for a while, and settle. Some never do.
func (a *attempt) reservations() {
	a.Limit = 0 // each of them waits for the limiter's budget
	var callers sync.WaitGroup
	for range 3 {
		ask := Ask{Rule: a.r.IntN(len(a.w.limits)), Key: fmt.Sprint("u", a.r.IntN(3)), Cost: 1 + a.r.Int64N(8)}
		actual, lasts := a.r.Int64N(ask.Cost+1), time.Duration(a.r.Int64N(int64(3*time.Second)))
		if chance(a.r, 2) { // also more than was reserved
			ask.Rule, actual = len(a.w.limits)-1, actual+a.r.Int64N(3)
		}
		callers.Go(func() {
			time.Sleep(lasts / 8)
			a.reserve(ask, actual, lasts)
		})
	}
	callers.Wait()
}

// reserve reserves hits, and settles them at the actual cost behind the pauses.
func (a *attempt) reserve(ask Ask, actual int64, pauses ...time.Duration) {
	var r *limit.Reservation
	asks := []Ask{ask}
	a.decide(a.ctx, func(ctx context.Context, requests ...limit.Request) (result limit.Result) {
		r, result = a.w.limiter.Reserve(ctx, requests...)
		return result
	}, asks)
	if r == nil || actual == ask.Cost {
		return
	}
	for _, d := range pauses {
		time.Sleep(d)
	}
	settling := &Settling{Actual: actual}
	a.w.rec.note(func(*History) { asks[0].Settled = settling })
	err := a.w.frozen(r.Settle(a.ctx, actual))
	a.w.rec.note(func(*History) { settling.Err = err })
	if again := r.Cancel(a.ctx); !errors.Is(again, limit.ErrSettled) {
		a.w.unexpected("a reservation is settled twice: %v", again)
	}
}

// keptHits notes what is counted of the rule kept.
func (w *world) keptHits() {
	w.rec.note(func(h *History) {
		h.Kept = Kept{Counted: make(map[string]int64), Lost: w.settings.Limiter.Observer.(*ledger).lost.Load()}
		window := strconv.FormatInt(h.Start.UnixNano()/int64(keptWindow), 36)
		for at := range h.asked() {
			if w.settings.Terms.Rules[at.rule].Name == kept {
				key := "limit:" + kept + ":" + window + ":" + at.key
				said, _ := w.model.Value(key)
				h.Kept.Counted[at.key], _ = strconv.ParseInt(said, 10, 64)
			}
		}
	})
}
