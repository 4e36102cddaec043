package sim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/pipeline"
)

// Keys that are hit by one call only: no later hit makes good what it has left undone.

// onceTTL is the time to live of these keys, most of which live to the world's end. Some
// are deleted, and counted anew.
const onceTTL = 15 * time.Minute

// onceKeys is what these keys begin with.
const onceKeys = "o:"

// onceKey returns a key that no other call hits.
func (a *attempt) onceKey(i int) string { return fmt.Sprintf("%s%d.%d", onceKeys, a.ID, i) }

// hitting returns a hit, and notes it as a command of the call.
func (a *attempt) hitting(key string, by int64, ttl time.Duration) pipeline.Hit {
	c := write(hit, key, strconv.FormatInt(by, 10))
	c.Writes, c.By, c.TTL = false, by, ttl
	a.Commands = append(a.Commands, c)
	return pipeline.Hit{Key: key, By: by, TTL: ttl}
}

// hit hits, and notes what became of it.
func (a *attempt) hit(hits []pipeline.Hit) {
	a.Err = a.w.counters.Hit(a.ctx, hits)
	for i := range hits {
		a.Commands[i].settle(strconv.FormatInt(hits[i].Total, 10), hits[i].Err)
	}
}

// countOnce counts with Pipeline.Count, and notes what became of it. If Do says that one of the keys
// may lack its time to live, that may be any of them.
func (a *attempt) countOnce(hits []pipeline.Hit) {
	p := a.newPipeline()
	var totals []pipeline.Reply
	for _, h := range hits {
		totals = append(totals, p.Count(h.Key, h.By, h.TTL))
	}
	a.Err = p.Do(a.ctx)
	failed := false
	for i, total := range totals {
		err := total.Err()
		if err == nil && hits[i].TTL > 0 && onlyCounted(a.Err) {
			err = errOnlyCounted
		}
		a.Commands[i].settle(replyText(total), err)
		failed = failed || err != nil
	}
	if !failed {
		a.Err = nil // only SET failed, and the key has got its time to live
	}
}

var errOnlyCounted = fmt.Errorf("counted, but perhaps without a time to live: %w", redislanes.ErrUnknownOutcome)

// once hits keys that nobody else hits, in half of the calls with so little time that the
// call may end on its way.
func (a *attempt) once() {
	if chance(a.r, 2) {
		trip := 2 * (a.w.settings.Latency + a.w.settings.Jitter)
		short := time.Duration(a.r.Int64N(int64(3*trip))) + 1
		ctx, cancel := context.WithTimeout(a.ctx, short)
		defer cancel()
		if at := a.w.rec.now() + short; a.Limit == 0 || at < a.Limit {
			a.ctx, a.Limit, a.Deadline = ctx, at, true
		}
	}
	var hits []pipeline.Hit
	for i := range 1 + a.r.IntN(4) {
		hits = append(hits, a.hitting(a.onceKey(i), a.amount(), onceTTL))
		if chance(a.r, 3) {
			hits = append(hits, a.hitting(a.onceKey(i), a.amount(), 0))
		}
	}
	if chance(a.r, 3) {
		a.countOnce(hits)
	} else {
		a.hit(hits)
	}
}
