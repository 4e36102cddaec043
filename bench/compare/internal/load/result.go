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
)

// A Result is what one endpoint did in one phase: of one round, or of several
// that were added up.
type Result struct {
	Callers  int
	Requests int64 // that succeeded
	Took     time.Duration
	CPU      time.Duration // of this process, which is the client's
	Mallocs  uint64
	Bytes    uint64 // allocated

	// Latencies of requests that succeeded, in nanoseconds. Slow has those of
	// the occasional slow requests, Fast all others.
	Fast, Slow *hdrhistogram.Histogram

	Errors map[string]Failure // by kind
	Use    Use
	// Partial says that the phase was cut short.
	Partial bool
}

// A Failure is how often requests failed in one way.
type Failure struct {
	Count   int64  `json:"count"`
	Example string `json:"example"` // the first one's text
}

// longest is the highest latency that a histogram holds; higher ones count as
// this.
const longest = 2 * time.Minute

// NewResult returns an empty result.
func NewResult() *Result {
	return &Result{
		Fast:   hdrhistogram.New(1, longest.Nanoseconds(), 3),
		Slow:   hdrhistogram.New(1, longest.Nanoseconds(), 3),
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
	r.Bytes += other.Bytes
	r.Fast.Merge(other.Fast)
	r.Slow.Merge(other.Slow)
	for kind, f := range other.Errors {
		r.fail(kind, f)
	}
	r.Use.add(other.Use)
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

// All returns the latencies of fast and slow requests together.
func (r *Result) All() *hdrhistogram.Histogram {
	if r.Slow.TotalCount() == 0 {
		return r.Fast
	}
	all := hdrhistogram.Import(r.Fast.Export())
	all.Merge(r.Slow)
	return all
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
	{"unexpected reply", errUnexpected},
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

// A tally is one caller's own memory of latencies, so that callers rarely meet
// at the recorder's lock.
type tally struct {
	to         *recorder
	fast, slow [256]int64
	fasts      int
	slows      int
}

func (t *tally) add(isSlow bool, took time.Duration) {
	v := min(max(1, took.Nanoseconds()), longest.Nanoseconds())
	if isSlow {
		t.slow[t.slows] = v
		t.slows++
	} else {
		t.fast[t.fasts] = v
		t.fasts++
	}
	if t.fasts == len(t.fast) || t.slows == len(t.slow) {
		t.flush()
	}
}

func (t *tally) flush() {
	t.to.mu.Lock()
	defer t.to.mu.Unlock()
	for _, v := range t.fast[:t.fasts] {
		_ = t.to.result.Fast.RecordValue(v) // within its bounds, see add
	}
	for _, v := range t.slow[:t.slows] {
		_ = t.to.result.Slow.RecordValue(v)
	}
	t.to.result.Requests += int64(t.fasts + t.slows)
	t.fasts, t.slows = 0, 0
}

func (t *tally) fail(err error) {
	t.to.mu.Lock()
	defer t.to.mu.Unlock()
	t.to.result.fail(kindOf(err), Failure{1, err.Error()})
}
