package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

const (
	startTime      = 60 * time.Second
	longestEpisode = 30 * time.Second

	// servedTime is how long after the cluster is healthy the client must serve all keys.
	servedTime = 10 * time.Second

	slots       = 50 // that hold keys
	keysPerSlot = 4  // so that a slot can be half on its way
)

// A soak is one run.
type soak struct {
	ctx      context.Context // of the run
	settings settings
	log      io.Writer
	began    time.Time
	cluster  *servers.Cluster
	client   *cluster.Client
	counters *pipeline.Counters
	tags     []string    // of keys, each in a slot of its own
	lost     atomic.Bool // a shard has been lost for so long that its calls must fail at once
	lossless atomic.Bool // Redis cannot have lost an acknowledged write in this episode

	mu     sync.Mutex // guards report.failures
	report *report
}

// run does everything except printing the report. The error says why it could not begin.
func run(ctx context.Context, set settings, log io.Writer) (*report, error) {
	s := &soak{ctx: ctx, settings: set, log: log, began: time.Now(), tags: redistest.KeysInSlots(slots, "soak"), report: &report{seed: set.seed, faults: make(map[kind]int)}}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var err error
	if s.cluster, err = servers.LaunchCluster(starting, servers.Options{Primaries: 3, Replicas: 1, NodeTimeout: nodeTimeout}); err != nil {
		return nil, err
	}
	defer s.cluster.Close()
	before := measure(0)
	if s.client, err = (cluster.Config{}).New(starting, s.cluster.Addrs()); err != nil {
		return nil, err
	}
	s.began = time.Now()
	s.logf("cluster at %s, seed %d", strings.Join(s.cluster.Addrs(), " "), set.seed)
	s.counters = pipeline.CountersConfig{}.New(s.client)
	s.episodes()
	s.report.took, s.report.stats = time.Since(s.began), s.client.Stats()
	if err := errors.Join(s.counters.Close(), s.client.Close()); err != nil {
		s.found("closing the client: %v", err)
	}
	s.report.judge(before, measure(before.goroutines))
	return s.report, nil
}

func (s *soak) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.log, "%8.3fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// found notes what makes the run fail.
func (s *soak) found(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.fail(format, args...)
}

// episodes runs until the time is over, the context ends, or an episode cannot go on.
func (s *soak) episodes() {
	end, length := s.began.Add(s.settings.total), min(longestEpisode, s.settings.total/2)
	for number := 1; s.ctx.Err() == nil && time.Now().Before(end); number++ {
		until := time.Now().Add(length)
		if until.After(end) {
			until = end
		}
		if err := s.runEpisode(number, until); err != nil {
			s.logf("episode %d failed: %v", number, err)
			s.found("episode %d: %v", number, err)
			return
		}
	}
}

// runEpisode keeps up the load and injects faults until the time comes, and checks the keys.
func (s *soak) runEpisode(number int, until time.Time) error {
	keys := make([]string, slots*keysPerSlot)
	for i := range keys {
		keys[i] = fmt.Sprintf("{%s}:%d:%d", s.tags[i%slots], number, i/slots)
	}
	p, l := newPlan(s.settings, number), s.newLoad(keys)
	s.logf("episode %d, lossy %t", number, p.lossy)
	s.lossless.Store(true)
	l.start(s.settings.seed<<16 + uint64(number))
	s.served(keys)
	var err error
	for err == nil && s.ctx.Err() == nil && time.Now().Before(until) {
		err = s.disturb(p.next(), keys)
	}
	l.end()
	s.report.add(l)
	if err != nil {
		return err
	}
	if err := s.healthy(); err != nil {
		return err
	}
	return s.check(number, l)
}

// disturb injects one fault, waits until the cluster is healthy and the client serves it, and lets
// the load go on for a while.
func (s *soak) disturb(f fault, keys []string) error {
	before, err := s.look()
	if err != nil {
		return err
	}
	fit := before.fit(f.kind)
	if len(fit) == 0 {
		return fmt.Errorf("%s: no node is fit: primaries of the nodes: %v", f, before)
	}
	if f.mayLose() {
		s.lossless.Store(false)
	}
	node := fit[f.pick%len(fit)]
	s.report.faults[f.kind]++
	began := time.Now()
	injected := s.inject(f, before, node, keys)
	took := time.Since(began)
	if err := s.healthy(); err != nil {
		return fmt.Errorf("after %s: %w", f, err)
	}
	served := s.served(keys)
	s.report.worstServed = max(s.report.worstServed, served)
	s.logf("%s, node %d: took %v, served after %v, error %v", f, node, took.Round(time.Millisecond), served.Round(time.Millisecond), injected)
	after, err := s.look()
	if err != nil {
		return err
	}
	if s.lossless.Load() && f.kind != failover && !slices.Equal(before, after) {
		s.lossless.Store(false)
		s.logf("an unexpected election: acknowledged writes may be lost")
	}
	s.pass(f.quiet)
	return nil
}

func (s *soak) look() (view, error) {
	ctx, cancel := context.WithTimeout(s.ctx, stepTime)
	defer cancel()
	return look(ctx, s.cluster.Nodes())
}

// served sends a command for every key until all are acknowledged, and returns how long that took.
func (s *soak) served(keys []string) time.Duration {
	p, began := pipeline.New(s.client), time.Now()
	for {
		p.Reset()
		for _, key := range keys {
			p.Expire(key, time.Hour)
		}
		ctx, cancel := context.WithTimeout(s.ctx, deadline)
		err := p.Do(ctx)
		cancel()
		took := time.Since(began)
		if err == nil || s.ctx.Err() != nil {
			return took
		}
		if took > servedTime {
			s.found("the client does not serve all keys %v after the cluster was healthy: %v", servedTime, err)
			return took
		}
		s.pass(time.Millisecond)
	}
}

// check compares what Redis holds with what the callers were told.
func (s *soak) check(number int, l *load) error {
	ctx, cancel := context.WithTimeout(s.ctx, stepTime)
	defer cancel()
	values, err := values(ctx, s.cluster.Nodes(), l.keys)
	if err != nil {
		return err
	}
	lossless := s.lossless.Load()
	for i, key := range l.keys {
		t := &l.tallies[i]
		if v := violation(key, values[i], t.acknowledged.Load(), t.unknown.Load(), lossless); v != "" {
			s.logf("VIOLATION, %s", v)
			s.found("violation: %s", v)
		}
	}
	s.report.checked += len(values)
	if lossless {
		s.report.bothBounds += len(values)
	}
	s.logf("episode %d: %d keys checked, lossless %t", number, len(values), lossless)
	return nil
}
