package pipeline

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redislanes/redislanes/cluster"
)

// A debt is a key that may exist without its time to live: its INCRBY ran, or
// may have run, and its call ended before EXPIRE was acknowledged. Nobody may
// ever hit it again, so its EXPIRE is sent on, behind the callers' backs.
type debt struct {
	ttl   time.Duration
	until time.Time // then it is given up
}

type debts struct {
	mu     sync.Mutex // guards what follows; never held across I/O
	keys   map[string]debt
	paying bool // a goroutine is

	ctx  context.Context // ends with Close
	stop context.CancelFunc
}

const (
	mostDebts   = 10_000
	debtLife    = time.Hour
	debtsAtOnce = 500 // in one pipeline
	debtWait    = time.Second

	minDebtPause = 50 * time.Millisecond
	maxDebtPause = time.Second
)

// owe remembers the key, unless there are too many of them or Close was called.
func (c *Counters) owe(key string, ttl time.Duration) (remembered bool) {
	d := &c.debts
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.keys[key]; d.ctx.Err() != nil || !known && len(d.keys) >= mostDebts {
		return false
	}
	if d.keys == nil {
		d.keys = make(map[string]debt)
	}
	d.keys[key] = debt{ttl, time.Now().Add(debtLife)}
	if !d.paying {
		d.paying = true
		c.inside.Stay() // a flight has not landed yet, so Close still waits
		go c.pay()
	}
	return true
}

// pay sends what is owed until nothing is, or to the end.
func (c *Counters) pay() {
	defer c.inside.Leave()
	for pause := minDebtPause; ; pause = min(2*pause, maxDebtPause) {
		select {
		case <-time.After(rand.N(pause) + 1):
		case <-c.debts.ctx.Done():
		}
		if keys, owed := c.debts.some(); len(keys) == 0 {
			return
		} else if c.payThese(keys, owed) {
			pause = minDebtPause
		}
	}
}

// some returns some of what is owed. If nothing is, or after Close, nobody is
// paying any more.
func (d *debts) some() (keys []string, owed []debt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, closed := time.Now(), d.ctx.Err() != nil
	for key, what := range d.keys {
		if closed || now.After(what.until) {
			delete(d.keys, key)
			continue
		}
		if keys, owed = append(keys, key), append(owed, what); len(keys) == debtsAtOnce {
			break
		}
	}
	if len(keys) == 0 {
		d.paying, d.keys = false, nil
	}
	return keys, owed
}

// payThese sends EXPIRE for the keys, and reports whether any debt is settled.
func (c *Counters) payThese(keys []string, owed []debt) (settled bool) {
	ctx, cancel := context.WithTimeout(c.debts.ctx, debtWait)
	defer cancel()
	p := New((*cluster.Client)(c.client))
	byScript := c.withoutNX.Load()
	replies := make([]Reply, len(keys))
	for i, key := range keys {
		replies[i] = c.appendExpiry(p, fullKey{key: key}, owed[i].ttl)
	}
	_ = p.Do(ctx)
	c.debts.mu.Lock()
	defer c.debts.mu.Unlock()
	for i, key := range keys {
		err := replies[i].Err()
		if !byScript && knowsNoNX(err) {
			c.withoutNX.Store(true) // and the debt stays
			continue
		}
		if !mayComeTrue(err) && c.debts.keys[key] == owed[i] {
			delete(c.debts.keys, key)
			settled = true
		}
	}
	return settled
}
