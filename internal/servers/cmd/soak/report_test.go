package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(r *report)
		want   string
	}{
		"passed":                {func(*report) {}, ""},
		"fewer goroutines":      {func(r *report) { r.After.Goroutines-- }, ""},
		"a goroutine":           {func(r *report) { r.After.Goroutines++ }, "1 goroutines leaked"},
		"8 MiB":                 {func(r *report) { r.After.Heap += heapLeak }, ""},
		"more than 8 MiB":       {func(r *report) { r.After.Heap += heapLeak + 1 }, "the heap is"},
		"a violation":           {func(r *report) { r.Violations = []string{"v"} }, "1 keys violate"},
		"a finding":             {func(r *report) { r.Findings = []string{"f"} }, "1 findings"},
		"a command in no class": {func(r *report) { r.Refused--; r.NoClass++ }, "1 commands of 10 are in no class"},
		"a lost command":        {func(r *report) { r.Refused-- }, "1 commands of 10 are in no class"},
		"a repetition":          {func(r *report) { r.Stats.Repeated = 1 }, "the client repeated 1 commands"},
		"an error":              {func(r *report) { r.Errors = []string{"e"} }, "the run ended early"},
		"no check":              {func(r *report) { r.KeysChecked = 0 }, "no key was checked"},
		"a failed fault":        {func(r *report) { r.FaultErrors = []string{"e"} }, ""},
		"an unexpected failure": {func(r *report) { r.Unexpected = []string{"e"} }, ""},
	} {
		r := &report{
			Commands: 10, Acknowledged: 4, Unknown: 3, NotSent: 2, Refused: 1, KeysChecked: 1,
			Before: footprint{5, 1 << 20}, After: footprint{5, 1 << 20},
		}
		test.change(r)
		r.judge()
		got := strings.Join(r.Failures, "; ")
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestReportFile(t *testing.T) {
	t.Parallel()
	r := newReport(settings{seed: 42, pool: "fixed"})
	r.Faults[reshard], r.Faults[kill], r.Seconds = 2, 1, 1
	r.Violations = []string{"too much"}
	r.judge()
	var text bytes.Buffer
	r.print(&text)
	for _, want := range []string{"seed 42, fixed pool", "kill 1, reshard 2", "violation          too much", "FAILED             1 keys violate"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	file := filepath.Join(t.TempDir(), "report.json")
	if err := r.save(file); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(b, &back); err != nil || back.Seed != 42 || back.Faults[reshard] != 2 || len(back.Failures) == 0 {
		t.Errorf("read back: %v, %+v", err, back)
	}
	if err := r.save(filepath.Join(file, "x")); err == nil {
		t.Error("saved into a folder that is none")
	}
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-for 1ms":          "-for = 1ms",
		"-episode -1s":      "-episode = -1s",
		"-primaries 2":      "-primaries = 2",
		"-replicas 0":       "-replicas = 0",
		"-node-timeout 1ms": "-node-timeout = 1ms",
		"-callers 0":        "-callers = 0",
		"-keys 5":           "-keys = 5",
		"-per-call 41":      "-per-call = 41",
		"-per-call 0":       "-per-call = 0",
		"-deadline 0s":      "-deadline = 0s",
		"-pause -1s":        "-pause = -1s",
		"-pool none":        `-pool = "none"`,
		"extra":             `argument "extra"`,
		"-no-such-flag":     "no-such-flag",
	} {
		var out bytes.Buffer
		if code := command(strings.Fields(args), &out, &out); code != 2 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit status %d, output %q, want 2 and %q", args, code, &out, want)
		}
	}
	if code := command([]string{"-h"}, &bytes.Buffer{}, &bytes.Buffer{}); code != 0 {
		t.Errorf("-h: exit status %d, want 0", code)
	}
}
