package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// TestSmoke runs the whole program for a few seconds.
func TestSmoke(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds and a cluster")
	}
	servers.RequireServer(t)
	var out bytes.Buffer
	code := command([]string{"-for", "5s", "-callers", "8"}, &out)
	t.Logf("\n%s", &out)
	if code != 0 || !strings.Contains(out.String(), "passed") {
		t.Errorf("exit status %d", code)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64, episode int) (p *plan, faults []fault) {
		p = newPlan(settings{seed: seed}, episode)
		for range 300 {
			faults = append(faults, p.next())
		}
		return p, faults
	}
	sorts := make(map[bool]bool)
	for episode := range 20 {
		p, faults := draw(7, episode)
		sorts[p.lossy] = true
		if _, again := draw(7, episode); !reflect.DeepEqual(faults, again) {
			t.Errorf("episode %d: two plans differ", episode)
		}
		drawn, losing := make(map[kind]bool), false
		for _, f := range faults {
			drawn[f.kind] = true
			losing = losing || f.mayLose()
		}
		if losing != p.lossy || len(drawn) != len(p.kinds) {
			t.Errorf("episode %d, lossy %t: %d kinds of faults, losing %t", episode, p.lossy, len(drawn), losing)
		}
	}
	if len(sorts) != 2 {
		t.Errorf("of 20 episodes all have lossy = %v", sorts)
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	const listed = "aa 127.0.0.1:1@2 myself,master - 0 0 3 connected 0-8191 [5->-bb]\n" +
		"bb 127.0.0.1:3@4 master - 0 1 4 connected 8192-16383\n" +
		"cc 127.0.0.1:5@6 slave bb 0 1 4 connected\n" +
		"zz 127.0.0.1:7@8 handshake - 0 0 0 disconnected\n" +
		"too short\n"
	v := view{primary: primaries(listed, []string{"bb", "cc", "aa", "dd"})}
	if want := []int{0, 0, 2, -1}; !slices.Equal(v.primary, want) {
		t.Errorf("%v, want %v", v.primary, want)
	}
	for k, want := range map[kind][]int{failover: {1}, takeover: {1}, kill: {0}, standalone: {0}, shardLost: {0, 2}, reshard: {0, 2}, stop: {0, 2}} {
		if got := v.fit(k); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", k, got, want)
		}
	}
	for info, want := range map[string]int64{"cluster_state:ok\r\ncluster_current_epoch:17\r\n": 17, "": 0, "cluster_current_epoch:x": 0} {
		if got := currentEpoch(info); got != want {
			t.Errorf("%q: %d, want %d", info, got, want)
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want outcome
	}{
		{nil, acknowledged},
		{&redislanes.Error{Outcome: redislanes.ErrUnknownOutcome, Cause: context.DeadlineExceeded}, unknown},
		{fmt.Errorf("x: %w", redislanes.ErrNotSent), notRun},
		{redislanes.ErrClosed, notRun},
		{fmt.Errorf("x: %w", redislanes.ErrRefused), notRun},
		{errors.Join(redislanes.ErrUnknownOutcome, redislanes.ErrRefused), impossible},
		{context.DeadlineExceeded, impossible},
	} {
		if got := outcomeOf(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}

func TestViolation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value, acknowledged, unknown int64
		lossless, want               bool
	}{
		{10, 10, 0, true, false},
		{12, 10, 2, true, false},
		{13, 10, 2, false, true},
		{9, 10, 2, true, true},
		{9, 10, 2, false, false},
	} {
		if got := violation("k", test.value, test.acknowledged, test.unknown, test.lossless); (got != "") != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(r *report, after *footprint){
		"":                     func(*report, *footprint) {},
		"1 goroutines leaked":  func(_ *report, after *footprint) { after.goroutines++ },
		"the heap is":          func(_ *report, after *footprint) { after.heap += heapLeak + 1 },
		"6 of 100 calls":       func(r *report, _ *footprint) { r.lost, r.clung = 100, 6 },
		"repeated 1 commands":  func(r *report, _ *footprint) { r.stats.Repeated = 1 },
		"no key was checked":   func(r *report, _ *footprint) { r.checked = 0 },
		"found while it ran":   func(r *report, _ *footprint) { r.fail("found while it ran") },
		"FAILED             x": func(r *report, _ *footprint) { r.fail("x") },
	} {
		r, before := &report{checked: 1, took: time.Second}, footprint{5, 1 << 20}
		after := before
		change(r, &after)
		r.judge(before, after)
		var text bytes.Buffer
		r.print(&text)
		if !strings.Contains(text.String(), want) || (want == "") != strings.Contains(text.String(), "passed") {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-for 1ms": "-for = 1ms", "-episode -1s": "-episode = -1s", "-callers 0": "-callers = 0", "-deadline 0s": "-deadline = 0s",
		"-pool none": `-pool = "none"`, "-faults x": `-faults: "x"`, "extra": `argument "extra"`, "-no-such-flag": "no-such-flag",
	} {
		var out bytes.Buffer
		if code := command(strings.Fields(args), &out); code != 2 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit status %d, output %q, want 2 and %q", args, code, &out, want)
		}
	}
}
