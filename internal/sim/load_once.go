package sim

import (
	"cmp"
	"context"
	"fmt"
	"math"
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

// swarm is the kind of a call that is several callers, at least leastOfASwarm, who hit.
const (
	swarm         = "swarm"
	leastOfASwarm = 6
)

// swarm is several callers who hit few keys nearly at the same moment, so that hits wait
// for those that are under way.
func (a *attempt) swarm() {
	a.Limit = 0 // each of them has its own
	var wg sync.WaitGroup
	one := &action{name: "hits", run: (*attempt).hits}
	for i := range leastOfASwarm + a.r.IntN(6) {
		after := time.Duration(a.r.Int64N(int64(40 * time.Millisecond)))
		wg.Go(func() {
			time.Sleep(after)
			a.w.call(source(a.w.seed, ofCall, 1<<62|uint64(a.ID+i)), a.ID+1+i, one)
		})
	}
	wg.Wait()
}

// overflowing is the kind of calls whose hits on one key are too much together.
const overflowing = "overflowing"

// overflowing hits a key by more than it can count, after a hit that fits: the one is
// counted and the other one refused, each by itself. In half of the calls the key is
// deleted after their sum was refused, so that both are counted.
func (a *attempt) overflowing() {
	const room = 1000
	hits := []pipeline.Hit{a.hitting(a.onceKey(0), math.MaxInt64-room, 0)}
	if a.Err = a.w.counters.Hit(a.ctx, hits); a.counted(hits, 0) != nil {
		return
	}
	if chance(a.r, 2) {
		go func() {
			time.Sleep(a.w.settings.Latency)
			p := pipeline.New(a.w.client)
			p.Cmd("DEL", a.onceKey(0))
			_ = p.Do(a.ctx)
		}()
	}
	hits = []pipeline.Hit{a.hitting(a.onceKey(0), 1+a.r.Int64N(room), onceTTL), a.hitting(a.onceKey(0), 2*room, onceTTL)}
	a.Err = a.w.counters.Hit(a.ctx, hits)
	a.Misuse = a.counted(hits, 1) != nil
}

// takenBack is the kind of calls of which the hit that wants a time to live does not stay.
const takenBack = "taken back"

// takenBack hits a key while hits on it are under way together, by callers of which the
// one that wants a time to live does not stay.
func (a *attempt) takenBack() {
	pause := a.w.settings.Latency / 4
	hits := [][]pipeline.Hit{
		{a.hitting(a.onceKey(0), a.amount(), 0), a.hitting(a.onceKey(0), a.amount(), 0)},
		{a.hitting(a.onceKey(0), a.amount(), 0)},
		{a.hitting(a.onceKey(0), a.amount(), onceTTL)},
	}
	var wg sync.WaitGroup
	for i, h := range hits {
		wg.Go(func() {
			ctx := a.ctx
			if i > 0 {
				time.Sleep(pause)
			}
			if i == len(hits)-1 {
				brief, cancel := context.WithTimeout(ctx, pause)
				defer cancel()
				ctx = brief
			}
			_ = a.w.counters.Hit(ctx, h)
		})
	}
	wg.Wait()
	settled := 0
	for i, h := range hits {
		err := a.counted(h, settled)
		settled += len(h)
		a.Misuse = a.Misuse || i == len(hits)-1 && err != nil // it had no time
		a.Err = cmp.Or(a.Err, err)
	}
}
