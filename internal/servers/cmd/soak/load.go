package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// A load is the callers of one episode.
type load struct {
	settings settings
	began    time.Time // of the run
	keys     []string
	tallies  []tally
	during   *atomic.Pointer[string] // the fault that is under way
	givenUp  *atomic.Bool            // calls must fail at once

	findings *findings // what must never be
	strict   findings  // what must not be as long as no write can be lost

	stop    chan struct{}
	wait    sync.WaitGroup
	callers []*caller
}

// A caller sends one pipeline after the other.
type caller struct {
	load     *load
	pipeline *pipeline.Pipeline
	random   *rand.Rand
	own      int   // the first of the keys that only this caller counts
	picked   []int // keys of the current call
	incrs    []pipeline.Reply
	expires  []pipeline.Reply
	last     []int64 // what the caller saw of each key last
	wrong    []bool  // keys with a finding, which would go on for ever

	calls    int64
	commands [classes]int64
	overruns overruns
	givenUp  int64 // calls that began and ended while they had to fail at once
	clung    int64 // of these, those that took more than half of their time
}

func (l *load) start(client *cluster.Client, seed uint64) {
	l.stop = make(chan struct{})
	l.tallies = make([]tally, len(l.keys))
	for i := range l.settings.callers {
		c := &caller{
			load: l, pipeline: pipeline.New(client), random: rand.New(rand.NewPCG(seed, uint64(i))),
			incrs: make([]pipeline.Reply, l.settings.perCall), expires: make([]pipeline.Reply, l.settings.perCall),
			own: l.settings.keys + i*l.settings.own, last: make([]int64, len(l.keys)), wrong: make([]bool, len(l.keys)),
		}
		l.callers = append(l.callers, c)
		l.wait.Go(c.run)
	}
}

// end lets the callers finish their calls.
func (l *load) end() {
	close(l.stop)
	l.wait.Wait()
}

func (c *caller) run() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-c.load.stop:
			return
		case <-pause.C:
		}
		c.call()
		pause.Reset(c.load.settings.pause)
	}
}

func (c *caller) call() {
	p, l := c.pipeline, c.load
	p.Reset()
	c.pick()
	for i, key := range c.picked {
		c.incrs[i] = p.IncrBy(l.keys[key], 1)
		c.expires[i] = p.Expire(l.keys[key], time.Hour)
	}
	givenUp := l.givenUp.Load()
	began := time.Now()
	deadline := began.Add(l.settings.deadline)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	err := p.Do(ctx)
	returned := time.Now()
	cancel()
	c.calls++
	if givenUp && l.givenUp.Load() {
		c.givenUp++
		if returned.Sub(began) > l.settings.deadline/2 {
			c.clung++
		}
	}
	if by := returned.Sub(deadline); by > 0 {
		c.overruns.add(overrun{by, returned.Sub(l.began), *l.during.Load()})
	}
	c.judge(err)
}

// pick chooses different keys: two INCRBY of one key could change places if
// only the first is refused.
func (c *caller) pick() {
	s := c.load.settings
	c.picked = c.picked[:0]
	c.pickFrom(c.own, c.own+s.own, s.ownPerCall())
	c.pickFrom(0, s.keys, s.perCall-s.ownPerCall())
}

func (c *caller) pickFrom(from, to, n int) {
	for n += len(c.picked); len(c.picked) < n; {
		if key := from + c.random.IntN(to-from); !slices.Contains(c.picked, key) {
			c.picked = append(c.picked, key)
		}
	}
}

// judge puts every command of the call into its class.
func (c *caller) judge(err error) {
	l, all := c.load, true
	for i, key := range c.picked {
		incr, expire := c.class(c.incrs[i], "INCRBY"), c.class(c.expires[i], "EXPIRE")
		all = all && incr == acknowledged && expire == acknowledged
		if expire == acknowledged {
			c.expired(i, key)
		}
		if incr == acknowledged {
			c.counted(i, key)
		}
		l.tallies[key].count(incr)
	}
	var failed *redislanes.PipelineError
	switch {
	case err == nil && !all:
		l.findings.addf("Do returned nil, although a command failed")
	case err != nil && all:
		l.findings.addf("Do returned an error, although no command failed: %v", err)
	case err != nil && !errors.As(err, &failed):
		l.findings.addf("Do returned an error that is no redislanes.PipelineError: %v", err)
	}
}

func (c *caller) class(r pipeline.Reply, name string) class {
	err := r.Err()
	class := classify(err)
	c.commands[class]++
	if class == noClass {
		c.load.findings.addf("%s: an error in no class: %v", name, err)
	}
	return class
}

// counted looks at the reply of an INCRBY that was acknowledged, and has not
// been counted yet.
func (c *caller) counted(i, key int) {
	n, err := c.incrs[i].Int()
	name := c.load.keys[key]
	if err != nil {
		c.load.findings.addf("INCRBY: a reply that is no integer: %v", err)
		return
	}
	if n <= c.last[key] {
		c.load.strict.addf("INCRBY of %s: a caller got %d after %d", name, n, c.last[key])
	}
	c.last[key] = n
	if key < c.own || key >= c.own+c.load.settings.own || c.wrong[key] {
		return
	}
	// Nobody else counts this key, so that the invariant holds for each reply:
	// it finds what the unknown outcomes of many callers hide at the end.
	acknowledged, unknown := c.load.tallies[key].told()
	if v := violation(name, n, acknowledged+1, unknown, false); v != "" {
		c.wrong[key] = true
		c.load.findings.addf("INCRBY returned %s", v)
	} else if v := violation(name, n, acknowledged+1, unknown, true); v != "" {
		c.load.strict.addf("INCRBY returned %s", v)
	}
}

// expired looks at the reply of an EXPIRE that was acknowledged. It must find
// the key if the caller has counted it in an earlier call.
func (c *caller) expired(i, key int) {
	switch n, err := c.expires[i].Int(); {
	case err != nil:
		c.load.findings.addf("EXPIRE: a reply that is no integer: %v", err)
	case n != 0 && n != 1:
		c.load.findings.addf("EXPIRE: got %d, want 0 or 1", n)
	case n == 0 && c.last[key] > 0:
		c.load.strict.addf("EXPIRE did not find %s, which a caller had counted to %d", c.load.keys[key], c.last[key])
	}
}
