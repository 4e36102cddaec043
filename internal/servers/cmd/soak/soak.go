package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// A soak is one run.
type soak struct {
	settings settings
	log      io.Writer
	began    time.Time
	group    group
	cluster  *servers.Cluster
	client   *cluster.Client
	tags     []string // of keys; each in a slot of its own
	during   atomic.Pointer[string]
	givenUp  atomic.Bool // a shard has been lost for so long that its calls must fail at once
	detours  detours
	findings findings
	report   *report
}

const startTime = 60 * time.Second

// run does everything but printing the report. The error says that it could
// not even begin.
func run(ctx context.Context, set settings, log io.Writer) (*report, error) {
	s := &soak{settings: set, log: log, began: time.Now(), group: ownGroup(), report: newReport(set)}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	err := s.group.apart(func() (err error) {
		s.cluster, err = servers.LaunchCluster(starting, set.cluster())
		return err
	})
	if err != nil {
		return nil, err
	}
	defer s.cluster.Close()
	s.tags = redistest.KeysInSlots(set.slots(), "soak")
	s.mark("nothing")
	s.report.Before = settle(0)
	if err := s.open(starting); err != nil {
		return nil, err
	}
	s.began = time.Now()
	sampler := startSampler(s.began, &s.during)
	s.logf("%d primaries with %d replicas each at %s, seed %d", set.primaries, set.replicas, strings.Join(s.cluster.Addrs(), " "), set.seed)
	s.episodes(ctx)
	sampler.end(s.report)
	s.report.Seconds = time.Since(s.began).Seconds()
	s.report.Stats = clientStats(s.client.Stats())
	if err := s.client.Close(); err != nil {
		s.findings.addf("closing the client: %v", err)
	}
	s.client = nil
	s.report.After = settle(s.report.Before.Goroutines)
	s.report.Findings = s.findings.list()
	s.report.judge()
	return s.report, nil
}

func (s *soak) open(ctx context.Context) error {
	config, err := s.settings.poolConfig()
	if err != nil {
		return err
	}
	s.client, err = cluster.Config{Pool: config, Dialer: lanes.Dialer{NetDial: s.detours.dial}}.New(ctx, s.cluster.Addrs())
	return err
}

func (s *soak) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.log, "%8.3fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// mark notes what is under way, for calls that overrun meanwhile.
func (s *soak) mark(what string) { s.during.Store(&what) }

// episodes runs until the time is over, the context ends or the run fails.
func (s *soak) episodes(ctx context.Context) {
	end := s.began.Add(s.settings.total)
	for number := 1; ctx.Err() == nil && time.Now().Before(end); number++ {
		e := s.newEpisode(number)
		until := time.Now().Add(s.settings.episode)
		if until.After(end) {
			until = end
		}
		if err := e.run(ctx, until); err != nil {
			s.logf("episode %d failed: %v", number, err)
			s.report.Errors = append(s.report.Errors, fmt.Sprintf("episode %d: %v", number, err))
			return
		}
	}
	if ctx.Err() != nil {
		s.report.Interrupted = true
	}
}

// The client has to serve all keys this long after the cluster is healthy.
const servedTime = 10 * time.Second

// served sends a command for every key until all are acknowledged, and returns
// how long that took.
func (s *soak) served(keys []string) time.Duration {
	began := time.Now()
	limit := time.NewTimer(servedTime)
	defer limit.Stop()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	p := pipeline.New(s.client)
	for {
		p.Reset()
		for _, key := range keys {
			p.Expire(key, time.Hour)
		}
		ctx, cancel := context.WithTimeout(context.Background(), max(s.settings.deadline, 100*time.Millisecond))
		err := p.Do(ctx)
		cancel()
		if err == nil {
			return time.Since(began)
		}
		select {
		case <-again.C:
		case <-limit.C:
			s.findings.addf("the client does not serve all keys %v after the cluster was healthy: %v", servedTime, err)
			return time.Since(began)
		}
	}
}
