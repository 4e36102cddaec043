package load

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"

	"github.com/redislanes/redislanes/bench/internal/keys"
)

// A Result is what one endpoint did in one phase: of one round, or of several that were added up.
type Result struct {
	Callers  int
	Requests int64 // that succeeded
	Took     time.Duration
	CPU      time.Duration // of this process, which is the client's
	Mallocs  uint64

	// Latencies of requests that succeeded, in nanoseconds. Slow has those of
	// the occasional slow requests; the others read or write.
	Reads, Writes, Slow Histogram

	// IdleTrips are round trips before the phase, LoadedTrips those during it, of
	// PING on a connection of its own, in nanoseconds.
	IdleTrips, LoadedTrips Histogram

	Errors  map[string]Failure // by kind
	Use     Use
	Machine MachineUse
	Servers ServerUse
	// Partial says that the phase was cut short.
	Partial bool
}

// A Failure is how often requests failed in one way.
type Failure struct {
	Count   int64  `json:"count"`
	Example string `json:"example"` // the first one's text
}

// NewResult returns an empty result.
func NewResult() *Result {
	return &Result{
		Reads: newHistogram(), Writes: newHistogram(), Slow: newHistogram(),
		IdleTrips: newHistogram(), LoadedTrips: newHistogram(),
		Errors: make(map[string]Failure),
	}
}

// Add adds another round.
func (r *Result) Add(other *Result) {
	r.Callers = other.Callers
	r.Requests += other.Requests
	r.Took += other.Took
	r.CPU += other.CPU
	r.Mallocs += other.Mallocs
	for to, from := range map[*Histogram]Histogram{
		&r.Reads: other.Reads, &r.Writes: other.Writes, &r.Slow: other.Slow, &r.IdleTrips: other.IdleTrips, &r.LoadedTrips: other.LoadedTrips,
	} {
		to.Merge(from.Histogram)
	}
	for kind, f := range other.Errors {
		r.fail(kind, f)
	}
	r.Use.add(other.Use)
	r.Machine.add(other.Machine)
	r.Servers.add(other.Servers)
	r.Partial = r.Partial || other.Partial
}

func (r *Result) fail(kind string, f Failure) {
	sum := r.Errors[kind]
	if sum.Example == "" {
		sum.Example = f.Example
	}
	sum.Count += f.Count
	r.Errors[kind] = sum
}

// Failed returns how many requests failed.
func (r *Result) Failed() (n int64) {
	for f := range maps.Values(r.Errors) {
		n += f.Count
	}
	return n
}

// Rate returns the requests a second that succeeded.
func (r *Result) Rate() float64 {
	if r.Took <= 0 {
		return 0
	}
	return float64(r.Requests) / r.Took.Seconds()
}

// PerRequest divides what was used by the requests that succeeded; 0 without any.
func (r *Result) PerRequest(used float64) float64 {
	if r.Requests == 0 {
		return 0
	}
	return used / float64(r.Requests)
}

// All returns the latencies of all requests together.
func (r *Result) All() Histogram { return together(r.Reads, r.Writes, r.Slow) }

// Fast returns the latencies of all requests but the occasional slow ones.
func (r *Result) Fast() Histogram { return together(r.Reads, r.Writes) }

// Within returns how many requests succeeded in so long a time.
func (r *Result) Within(d time.Duration) (n int64) {
	for _, bar := range r.All().Distribution() {
		if bar.From <= d.Nanoseconds() {
			n += bar.Count
		}
	}
	return n
}

// kinds of errors, the more exact ones first.
var kinds = []struct {
	name string
	err  error
}{
	{"deadline", context.DeadlineExceeded},
	{"exhausted", redislanes.ErrExhausted},
	{"server down", redislanes.ErrDown},
	{"outcome unknown", redislanes.ErrUnknownOutcome},
	{"not sent", redislanes.ErrNotSent},
	{"unexpected reply", keys.ErrUnexpected},
}

// kindOf says in a word what went wrong.
func kindOf(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	if reply := (resp3.SimpleError{}); errors.As(err, &reply) {
		return "error reply"
	}
	return "other"
}

// overload is the kind of requests whose time came in an open loop, but for
// which no caller was free until the end.
const overload = "never begun"

// A recorder gathers what callers measure.
type recorder struct {
	mu     sync.Mutex // guards result
	result *Result
}

// A class is what a request's latency counts among.
type class uint8

const (
	reads class = iota
	writes
	slowOnes
	classes
)

// A tally is one caller's own memory of latencies, so that callers rarely meet
// at the recorder's lock.
type tally struct {
	to   *recorder
	took [classes][256]int64
	n    [classes]int
}

func (t *tally) add(c class, took time.Duration) {
	t.took[c][t.n[c]] = min(max(1, took.Nanoseconds()), longest.Nanoseconds())
	if t.n[c]++; t.n[c] == len(t.took[c]) {
		t.flush()
	}
}

func (t *tally) flush() {
	t.to.mu.Lock()
	defer t.to.mu.Unlock()
	r := t.to.result
	for c, h := range [classes]Histogram{r.Reads, r.Writes, r.Slow} {
		for _, v := range t.took[c][:t.n[c]] {
			_ = h.RecordValue(v) // within its bounds, see add
		}
		r.Requests += int64(t.n[c])
		t.n[c] = 0
	}
}

func (t *tally) fail(err error) {
	t.to.mu.Lock()
	defer t.to.mu.Unlock()
	t.to.result.fail(kindOf(err), Failure{1, err.Error()})
}

// A Histogram is a distribution of latencies, in nanoseconds. As JSON it is a text that has
// all of it.
type Histogram struct{ *hdrhistogram.Histogram }

// longest is the highest latency that a histogram holds; higher ones count as this.
const longest = 2 * time.Minute

func newHistogram() Histogram { return Histogram{hdrhistogram.New(1, longest.Nanoseconds(), 3)} }

// together returns the latencies of all parts.
func together(parts ...Histogram) Histogram {
	all := newHistogram()
	for _, h := range parts {
		if h.Count() > 0 {
			all.Merge(h.Histogram)
		}
	}
	return all
}

// Count returns how many latencies there are.
func (h Histogram) Count() int64 {
	if h.Histogram == nil {
		return 0
	}
	return h.TotalCount()
}

// At returns the latency that so many percent do not exceed.
func (h Histogram) At(percent float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(percent))
}

// MarshalText is part of encoding.TextMarshaler.
func (h Histogram) MarshalText() ([]byte, error) {
	if h.Count() == 0 {
		return nil, nil
	}
	return h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}

// UnmarshalText is part of encoding.TextUnmarshaler.
func (h *Histogram) UnmarshalText(text []byte) (err error) {
	if *h = newHistogram(); len(text) > 0 {
		h.Histogram, err = hdrhistogram.Decode(text)
	}
	return err
}
