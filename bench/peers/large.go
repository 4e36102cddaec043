package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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

// A trial is a load that is measured, and perhaps another one beside it over the same connections.
type trial struct {
	scenario
	callers int
	beside  *scenario
}

const besideCallers = 2

// what is the name of the load in raw files.
func (t trial) what() string {
	if t.beside == nil {
		return t.name
	}
	return fmt.Sprintf("%s beside %d callers of %s", t.name, besideCallers, t.beside.name)
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
	for round := range p.rounds {
		for _, trial := range trials() {
			for _, c := range p.settings.clients {
				t, err := p.try(ctx, c, trial, round)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", c.name, trial.what(), err)
				}
				if t.Requests == 0 {
					continue
				}
				if err := p.note(line{Turn: &t}); err != nil {
					return err
				}
			}
		}
	}
	return nil
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

// try returns no requests if the client has no part in the trial.
func (p *peers) try(ctx context.Context, c client, t trial, round int) (done turn, err error) {
	opened, err := c.open(ctx, p.target)
	if err != nil {
		return done, err
	}
	defer opened.close()
	if opened.reading == nil || strings.HasPrefix(c.name, counters) {
		return done, nil
	}
	fmt.Fprintf(os.Stderr, "%d callers, %s: %s\n", t.callers, t.what(), c.name)
	measured, of := newLoad(t.scenario, t.callers, opened), cell{p.overTLS, t.callers, t.what(), c.name}
	during, stop := context.WithCancel(ctx)
	defer stop()
	other := make(chan error, 1)
	if t.beside == nil {
		other <- context.Canceled
	} else {
		beside := newLoad(*t.beside, besideCallers, opened)
		go func() {
			_, err := beside.run(during, time.Hour)
			other <- err
		}()
	}
	if _, err = measured.run(ctx, warmUp); err == nil {
		done, err = p.turn(ctx, measured, of, round)
	}
	stop()
	if failed := <-other; err == nil && !errors.Is(failed, context.Canceled) {
		err = fmt.Errorf("the load beside: %w", failed)
	}
	return done, err
}
