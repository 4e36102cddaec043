package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

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
	code := command([]string{"-for", "5s"}, &out)
	t.Logf("\n%s", &out)
	if code != 0 || !strings.Contains(out.String(), "passed") {
		t.Errorf("exit status %d", code)
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
		"":                    func(*report, *footprint) {},
		"1 goroutines leaked": func(_ *report, after *footprint) { after.goroutines++ },
		"the heap is":         func(_ *report, after *footprint) { after.heap += heapLeak + 1 },
		"6 of 100 calls":      func(r *report, _ *footprint) { r.lost, r.clung = 100, 6 },
		"no key was checked":  func(r *report, _ *footprint) { r.checked = 0 },
	} {
		r, before := &report{checked: 1}, footprint{5, 1 << 20}
		after := before
		change(r, &after)
		r.judge(before, after)
		if found := strings.Join(r.failures, "\n"); !strings.Contains(found, want) || (want == "") != (found == "") {
			t.Errorf("%q is not in %q", want, found)
		}
	}
}
