package sim

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

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

// counted notes what became of hits, of which the first is the command of that index.
func (a *attempt) counted(hits []pipeline.Hit, first int) (err error) {
	for i := range hits {
		a.Commands[first+i].settle(strconv.FormatInt(hits[i].Total, 10), hits[i].Err)
		err = cmp.Or(err, hits[i].Err)
	}
	return err
}

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
	a.Err = a.w.counters.Hit(a.ctx, hits)
	_ = a.counted(hits, 0)
}

// swarm is several callers who hit few keys nearly at the same moment, so that hits wait
// for those that are under way.
func (a *attempt) swarm() {
	a.Limit = 0 // each of them has its own
	var wg sync.WaitGroup
	one := &action{name: "hits", run: (*attempt).hits}
	for i := range 6 + a.r.IntN(6) {
		after := time.Duration(a.r.Int64N(int64(40 * time.Millisecond)))
		wg.Go(func() {
			time.Sleep(after)
			a.w.call(source(a.w.seed, ofCall, 1<<62|uint64(a.ID+i)), a.ID+1+i, one)
		})
	}
	wg.Wait()
}
