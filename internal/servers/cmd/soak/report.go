package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
)

// A report is what came of a run.
type report struct {
	Seed        uint64         `json:"seed"`
	Pool        string         `json:"pool"`
	Callers     int            `json:"callers"`
	DeadlineMS  float64        `json:"deadlineMilliseconds"`
	Seconds     float64        `json:"seconds"`
	Interrupted bool           `json:"interrupted"`
	Episodes    map[string]int `json:"episodes"`

	Calls        int64 `json:"calls"`
	Commands     int64 `json:"commands"`
	Acknowledged int64 `json:"acknowledged"`
	Unknown      int64 `json:"unknown"`
	NotSent      int64 `json:"notSent"`
	Refused      int64 `json:"refused"`
	NoClass      int64 `json:"noClass"`

	Faults      map[kind]int `json:"faults"`
	FaultErrors []string     `json:"faultErrors"`
	Unexpected  []string     `json:"unexpectedFailovers"`

	KeysChecked    int      `json:"keysChecked"`
	KeysBothBounds int      `json:"keysCheckedForBothBounds"`
	Lost           int64    `json:"acknowledgedWritesLostByRedis"`
	Violations     []string `json:"violations"`
	Findings       []string `json:"findings"`
	Errors         []string `json:"errors"`

	Overruns      overrunSummary `json:"overruns"`
	BareWaits     overrunSummary `json:"bareWaits"`
	GivenUp       int64          `json:"callsToALostShard"`
	Clung         int64          `json:"callsToALostShardThatTookHalfTheirTime"`
	WorstServedMS float64        `json:"worstTimeToServeMilliseconds"`
	WorstServedBy string         `json:"worstTimeToServeAfter"`

	Before footprint `json:"before"`
	After  footprint `json:"after"`
	Peak   footprint `json:"peak"`
	Stats  stats     `json:"stats"`

	Failures []string `json:"failures"`

	late overruns
}

// stats are the counters of the client.
type stats struct {
	Moved         uint64 `json:"moved"`
	Ask           uint64 `json:"ask"`
	Refused       uint64 `json:"refused"`
	NotSent       uint64 `json:"notSent"`
	Repeated      uint64 `json:"repeated"`
	Refreshes     uint64 `json:"refreshes"`
	RefreshErrors uint64 `json:"refreshErrors"`
}

func clientStats(s redislanes.Stats) stats {
	return stats{s.Moved, s.Ask, s.Refused, s.NotSent, s.Repeated, s.Refreshes, s.RefreshErrors}
}

func newReport(s settings) *report {
	return &report{
		Seed: s.seed, Pool: s.pool, Callers: s.callers, DeadlineMS: milliseconds(s.deadline),
		Episodes: make(map[string]int), Faults: make(map[kind]int),
	}
}

// addLoad adds what the callers of an episode, which have ended, counted.
func (r *report) addLoad(l *load) {
	for _, c := range l.callers {
		r.Calls += c.calls
		r.Commands += 2 * c.calls * int64(l.settings.perCall)
		r.Acknowledged += c.commands[acknowledged]
		r.Unknown += c.commands[unknown]
		r.NotSent += c.commands[notSent]
		r.Refused += c.commands[refused]
		r.NoClass += c.commands[noClass]
		r.GivenUp += c.givenUp
		r.Clung += c.clung
		r.late.merge(&c.overruns)
	}
	r.Overruns = r.late.summary()
}

// recovered notes how long after a fault the client served all keys.
func (r *report) recovered(d time.Duration, after string) {
	if ms := milliseconds(d); ms > r.WorstServedMS {
		r.WorstServedMS, r.WorstServedBy = ms, after
	}
}

// clungShare is one in how many calls may be late to fail when a shard is lost, as
// the machine may be busy.
const clungShare = 20

// A heap that has grown by more than this has leaked.
const heapLeak = 8 << 20

// judge lists why the run has failed.
func (r *report) judge() {
	fail := func(format string, args ...any) { r.Failures = append(r.Failures, fmt.Sprintf(format, args...)) }
	if n := len(r.Violations); n > 0 {
		fail("%d keys violate the invariant", n)
	}
	if counted := r.Acknowledged + r.Unknown + r.NotSent + r.Refused; counted != r.Commands {
		fail("%d commands of %d are in no class", r.Commands-counted, r.Commands)
	}
	if n := len(r.Findings); n > 0 {
		fail("%d findings", n)
	}
	if n := r.Stats.Repeated; n > 0 {
		fail("the client repeated %d commands, although none was marked as idempotent", n)
	}
	if r.Clung*clungShare > r.GivenUp {
		fail("%d of %d calls took more than half of their time although a shard had been lost long before", r.Clung, r.GivenUp)
	}
	if before, after := r.Before.Goroutines, r.After.Goroutines; after > before {
		fail("%d goroutines leaked", after-before)
	}
	if before, after := r.Before.Heap, r.After.Heap; after > before+heapLeak {
		fail("the heap is %d bytes after closing the client, %d before it was opened", after, before)
	}
	if n := len(r.Errors); n > 0 {
		fail("the run ended early, by an error")
	}
	if r.KeysChecked == 0 {
		fail("no key was checked")
	}
}

func (r *report) save(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func (r *report) print(w io.Writer) {
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "%-18s %s\n", name, fmt.Sprintf(format, args...))
	}
	_, _ = fmt.Fprintln(w)
	interrupted := ""
	if r.Interrupted {
		interrupted = ", interrupted"
	}
	line("run", "seed %d, %s pool, %d callers, deadline %v ms, %.1f s%s", r.Seed, r.Pool, r.Callers, r.DeadlineMS, r.Seconds, interrupted)
	line("episodes", "%s", counts(r.Episodes))
	line("faults", "%s", counts(r.Faults))
	line("calls", "%d, %.0f/s", r.Calls, float64(r.Calls)/r.Seconds)
	line("commands", "%d: acknowledged %d, unknown %d, not executed %d (not sent %d, refused %d), in no class %d",
		r.Commands, r.Acknowledged, r.Unknown, r.NotSent+r.Refused, r.NotSent, r.Refused, r.NoClass)
	line("keys checked", "%d, of these %d for both bounds; violations %d; lost by Redis %d", r.KeysChecked, r.KeysBothBounds, len(r.Violations), r.Lost)
	line("past the deadline", "%s", r.Overruns)
	line("bare waits", "%s", r.BareWaits)
	line("served after", "%.1f ms at worst, after %s", r.WorstServedMS, r.WorstServedBy)
	line("lost shards", "%d calls while they had to fail at once, %d of them took more than half of their time", r.GivenUp, r.Clung)
	line("goroutines", "before %d, after %d, peak %d", r.Before.Goroutines, r.After.Goroutines, r.Peak.Goroutines)
	line("heap", "before %.1f MiB, after %.1f MiB, peak %.1f MiB", mebi(r.Before.Heap), mebi(r.After.Heap), mebi(r.Peak.Heap))
	line("client", "moved %d, ask %d, refused %d, not sent %d, repeated %d, refreshes %d, failed refreshes %d",
		r.Stats.Moved, r.Stats.Ask, r.Stats.Refused, r.Stats.NotSent, r.Stats.Repeated, r.Stats.Refreshes, r.Stats.RefreshErrors)
	for _, list := range []struct {
		name  string
		texts []string
	}{
		{"unexpected", r.Unexpected}, {"failed fault", r.FaultErrors}, {"violation", r.Violations},
		{"finding", r.Findings}, {"error", r.Errors}, {"FAILED", r.Failures},
	} {
		for _, text := range list.texts {
			line(list.name, "%s", text)
		}
	}
	if len(r.Failures) == 0 {
		_, _ = fmt.Fprintln(w, "passed")
	}
}

func counts[K ~string](m map[K]int) string {
	var texts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		texts = append(texts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(texts, ", ")
}

func mebi(n uint64) float64 { return float64(n) / (1 << 20) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
