package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/redislanes/redislanes/bench/table"
)

// A partTurn is what one client spent its time on, by a profile of one turn: a line of a raw file.
type partTurn struct {
	turn
	Parts map[string]time.Duration `json:"parts"`
}

// Parts of a client's time.
const (
	writing    = "writes"
	reading    = "reads"
	polling    = "epoll"
	scheduling = "scheduler"
	encrypting = "TLS"
	allocating = "memory"
	inClient   = "client"
	loading    = "load"
	elsewhere  = "runtime"
)

var partNames = []string{writing, reading, polling, scheduling, encrypting, allocating, inClient, loading, elsewhere}

// measureParts profiles one client after the other.
func (p *peers) measureParts(ctx context.Context) error {
	for _, callers := range p.settings.callers {
		for _, s := range p.settings.scenarios {
			for _, c := range p.settings.clients {
				fmt.Fprintf(os.Stderr, "%d callers, %s: %s\n", callers, s.name, c.name)
				if err := p.partsOf(ctx, callers, s, c); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
		}
	}
	return nil
}

func (p *peers) partsOf(ctx context.Context, callers int, s scenario, c client) error {
	opened, err := c.open(ctx, p.target)
	if err != nil {
		return err
	}
	defer opened.close()
	l := newLoad(s, callers, opened)
	if _, err := l.run(ctx, warmUp); err != nil {
		return err
	}
	var profiled bytes.Buffer
	if err := pprof.StartCPUProfile(&profiled); err != nil {
		return err
	}
	measured, err := p.turn(ctx, l, cell{p.overTLS, callers, s.name, c.name}, 0)
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	parts, err := partsOfProfile(profiled.Bytes())
	if err != nil {
		return err
	}
	return p.note(line{Parts: &partTurn{measured, parts}})
}

// partsOfProfile adds up the samples of a profile by what they are part of.
func partsOfProfile(encoded []byte) (map[string]time.Duration, error) {
	parsed, err := profile.ParseData(encoded)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(parsed.SampleType, func(v *profile.ValueType) bool { return v.Unit == "nanoseconds" })
	if at < 0 {
		return nil, fmt.Errorf("the profile does not say how long its samples are")
	}
	parts := make(map[string]time.Duration)
	for _, s := range parsed.Sample {
		var functions []string // the innermost one first
		for _, l := range s.Location {
			for _, line := range l.Line {
				functions = append(functions, line.Function.Name)
			}
		}
		parts[partOf(functions)] += time.Duration(s.Value[at])
	}
	return parts, nil
}

// What functions of the runtime and of system calls are part of, by the beginnings of
// their names. The first part that any function of a stack belongs to is the stack's.
var partsByName = []struct {
	part string
	of   []string
}{
	{writing, []string{"syscall.write", "syscall.Write", "syscall.sendto", "internal/poll.writev"}},
	{reading, []string{"syscall.read", "syscall.Read", "syscall.recvfrom"}},
	{polling, []string{"runtime.netpoll", "internal/runtime/syscall.Epoll", "internal/runtime/syscall/linux.Epoll"}},
	{allocating, []string{"runtime.mallocgc", "runtime.gcBgMarkWorker", "runtime.gcAssist", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart"}},
	{scheduling, []string{
		"runtime.schedule", "runtime.park_m", "runtime.mcall", "runtime.goready", "runtime.ready", "runtime.gosched", "runtime.Gosched", "runtime.sysmon",
		"runtime.mstart", "runtime.wakep", "runtime.futex", "runtime.gopark", "runtime.findRunnable", "runtime.selectgo", "runtime.chansend", "runtime.chanrecv",
	}},
	{encrypting, []string{"crypto/"}},
}

// partOf returns what a stack is part of.
func partOf(functions []string) string {
	for _, p := range partsByName {
		for _, f := range functions {
			if slices.ContainsFunc(p.of, func(name string) bool { return strings.HasPrefix(f, name) }) {
				return p.part
			}
		}
	}
	for _, f := range functions {
		switch first, _, _ := strings.Cut(f, "/"); {
		case strings.HasPrefix(f, "main.") || strings.Contains(f, "hdrhistogram") || strings.Contains(f, "/bench/internal/"):
			return loading
		case strings.Contains(first, ".") && strings.Contains(f, "/"): // the path of a module that is not Go's
			return inClient
		}
	}
	return elsewhere
}

// partTable is what each client's time went to, in microseconds for a request. The profile is
// made of samples, and its sum is a little less than the processor time that the system counts.
func (r *record) partTable() *table.Table {
	t := table.New(append([]string{"callers", "scenario", "client", "req/s", "CPU/req", "servers/req"}, partNames...)...)
	for _, p := range r.parts {
		row := []string{
			fmt.Sprint(p.Callers), overText(p.Scenario, p.TLS), p.Client, fmt.Sprintf("%.0f", rate.of(p.turn)), microseconds(cpu.of(p.turn)), microseconds(serving.of(p.turn)),
		}
		for _, name := range partNames {
			row = append(row, microseconds(p.perRequest(float64(p.Parts[name]))))
		}
		t.Add(row...)
	}
	return t
}

func microseconds(ns float64) string { return fmt.Sprintf("%.2f", ns/1000) }
