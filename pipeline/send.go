package pipeline

import (
	"context"
	"slices"
	"time"
)

// send sends the flights in one pipeline.
func (c *Counters) send(ctx context.Context, flights []*flight) {
	p := c.load(flights)
	_ = p.Do(ctx) // each flight asks for its own error
	c.conclude(ctx, p, flights)
}

// load returns a pipeline with the flights.
func (c *Counters) load(flights []*flight) *Pipeline {
	p := c.pipelines.Get().(*Pipeline)
	p.Reset()
	began := time.Now()
	var now uint32
	var owners uint64
	if c.expiries != nil {
		now, owners = c.expiries.at(began), c.client.Owners()
	}
	for _, f := range flights {
		x := &f.sent
		*x = count{err: uncertain.err, key: f.lineup.key, by: f.sum, ttl: f.ttl, every: c.cfg.ExpireEveryHit, began: began}
		if c.expiries != nil {
			f.mark, f.at = markOf(f.lineup.hash, owners), now
			x.known = f.ttl > 0 && !f.doubted.Load() && c.expiries.has(f.mark, now)
		}
		p.lastKey, p.lastSlot = x.key, int32(f.lineup.slot)
		x.append(p)
	}
	return p
}

// conclude notes what became of the flights, once their pipeline was done.
func (c *Counters) conclude(ctx context.Context, p *Pipeline, flights []*flight) {
	var again mending
	apart := false
	for _, f := range flights {
		again.add(&f.sent, f.sent.read(c.doubts(f)))
		f.apart = len(f.members) > 1 && overflows(f.sent.err)
		apart = apart || f.apart
	}
	again.run(ctx, p)
	for _, f := range flights {
		c.learnExpiry(f)
	}
	if apart {
		c.flyApart(ctx, p, flights)
	}
	if len(flights) <= handyHits {
		c.pipelines.Put(p)
	}
}

// flyApart counts the hits of flights one by one whose sum the server refused
// because it would overflow: its first parts may not, and each caller gets what it
// would have got alone. Any other refusal is that of all hits.
func (c *Counters) flyApart(ctx context.Context, p *Pipeline, flights []*flight) {
	p.Reset()
	began := time.Now()
	for _, f := range flights {
		if !f.apart {
			continue
		}
		f.parts = slices.Repeat([]count{uncertain}, len(f.members))
		for i, m := range f.members {
			f.parts[i] = count{key: f.lineup.key, by: m.by, ttl: m.ttl, every: c.cfg.ExpireEveryHit, began: began, err: uncertain.err}
			f.parts[i].append(p)
		}
	}
	_ = p.Do(ctx)
	var again mending
	for _, f := range flights {
		for i := range f.parts {
			again.add(&f.parts[i], f.parts[i].read(false))
		}
	}
	again.run(ctx, p)
}
