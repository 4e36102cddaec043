package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
)

const (
	largeValue = 1 << 20 // bytes of each value that is read
	keysOfLong = 5_000   // keys of a pipeline of 10,000 commands
)

// valueKeys are those of large values, on all nodes.
var valueKeys = func() (keys []string) {
	for i := range 24 {
		keys = append(keys, fmt.Sprintf("value:%02d", i))
	}
	return keys
}()

var (
	longPipeline = scenario{name: "10,000 commands", variable: keysOfLong}
	largeReplies = scenario{name: "16 replies of 1 MB", variable: 16, reading: true}
	small        = scenario{name: "small", variable: 1}
)

// A trial is a load that is measured, and perhaps another one beside it over
// the same connections.
type trial struct {
	scenario
	callers int
	beside  *scenario
}

const besideCallers = 2

func (t trial) String() string {
	name := fmt.Sprintf("%s, %d callers", t.name, t.callers)
	if t.beside != nil {
		name += fmt.Sprintf(", beside %d callers of %s", besideCallers, t.beside.name)
	}
	return name
}

func trials() []trial {
	return []trial{
		{longPipeline, 1, nil}, {longPipeline, 8, nil},
		{largeReplies, 1, nil}, {largeReplies, 8, nil},
		{small, 50, nil}, {small, 50, &longPipeline}, {small, 50, &largeReplies},
	}
}

// measureLarge measures pipelines of 10,000 commands, replies of 1 MB, and small
// requests beside both.
func (p *peers) measureLarge(ctx context.Context) error {
	if err := p.writeValues(ctx); err != nil {
		return err
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	say(t, "\nload\tclient\treq/s\tp50\tp99\tcpu/req\tMB allocated/req\treads/req\twrites/req\n")
	for _, trial := range trials() {
		for _, c := range p.settings.clients {
			r, err := p.try(ctx, c, trial)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", c.name, trial, err)
			}
			if r == nil {
				continue
			}
			say(t, "%s\t%s\t%.1f\t%v\t%v\t%v\t%.3f\t%.1f\t%.1f\n", trial, c.name, r.rate(), rounded(r.percentile(50)),
				rounded(r.percentile(99)), rounded(r.cpuPerRequest()), r.perRequest(r.allocated)/1e6,
				r.perRequest(uint64(r.calls.reads)), r.perRequest(uint64(r.calls.writes)))
		}
	}
	return t.Flush()
}

func (p *peers) writeValues(ctx context.Context) error {
	c, err := cluster.Config{Dialer: lanes.Dialer{TLS: p.target.tls}}.New(ctx, p.addrs)
	if err != nil {
		return err
	}
	defer c.Close()
	writing := pipeline.New(c)
	for _, key := range valueKeys {
		writing.Cmd("SET", key, strings.Repeat("v", largeValue))
	}
	return writing.Do(ctx)
}

// try returns nil if the client has no part in the trial.
func (p *peers) try(ctx context.Context, c client, t trial) (*result, error) {
	opened, err := c.open(ctx, p.target)
	if err != nil {
		return nil, err
	}
	defer opened.close()
	if opened.reading == nil || strings.HasPrefix(c.name, counters) {
		return nil, nil
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", t, c.name)
	measured := newLoad(t.scenario, t.callers, opened)
	r := newResult()
	if t.beside == nil {
		if err := measured.run(ctx, warmUp, newResult()); err != nil {
			return nil, err
		}
		return r, measured.run(ctx, p.during*time.Duration(p.rounds), r)
	}
	return r, p.tryBeside(ctx, measured, newLoad(*t.beside, besideCallers, opened), r)
}

// tryBeside measures one load while another one goes on.
func (p *peers) tryBeside(ctx context.Context, measured, beside *load, r *result) error {
	during, stop := context.WithCancel(ctx)
	other := make(chan error, 1)
	go func() { other <- beside.run(during, time.Hour, newResult()) }()
	err := measured.run(ctx, warmUp, newResult())
	if err == nil {
		err = measured.run(ctx, p.during*time.Duration(p.rounds), r)
	}
	stop()
	if failed := <-other; err == nil && !errors.Is(failed, context.Canceled) {
		err = fmt.Errorf("the load beside: %w", failed)
	}
	return err
}
