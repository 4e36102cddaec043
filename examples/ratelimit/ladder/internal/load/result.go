package load

import (
	"context"
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc/status"
)

// A Result is what became of the requests that were due in the measured time of a
// step.
type Result struct {
	Successes int64 // that limits have decided, either way
	Denied    int64 // of the successes, those over a limit
	Failures  map[string]Failure
	Answered  int64         // successes by the time at which their replies arrived
	Took      time.Duration // the measured time
	// Interrupted says that the step was cut short.
	Interrupted bool
	// MostOutstanding is the highest number of requests under way.
	MostOutstanding int
	// Cores is how many processors each part has used in the measured time.
	Cores map[string]float64

	Latency *hdrhistogram.Histogram // of successes, from when they were due, in nanoseconds
	Late    *hdrhistogram.Histogram // from when requests were due until they were sent, in nanoseconds
}

// A Failure is how often requests failed in one way.
type Failure struct {
	Count   int64  `json:"count"`
	Example string `json:"example"` // text of the first one
}

// longest is the highest duration that a histogram holds; higher ones count as
// this.
const longest = 2 * time.Minute

var (
	errNotSent   = errors.New("too many requests outstanding: the service is too slow for this rate, or -outstanding too low")
	errUndecided = errors.New("the reply is neither OK nor OVER_LIMIT")
	errNoLimit   = errors.New("a descriptor has no current_limit in the reply: no rule matches it, or the service has decided without its store")
)

func newResult() *Result {
	return &Result{
		Failures: make(map[string]Failure),
		Latency:  hdrhistogram.New(1, longest.Nanoseconds(), 3),
		Late:     hdrhistogram.New(1, longest.Nanoseconds(), 3),
	}
}

// Rate returns the successes a second, by when their replies arrived. The warm-up should be longer than the latency.
func (r *Result) Rate() float64 {
	if r.Took <= 0 {
		return 0
	}
	return float64(r.Answered) / r.Took.Seconds()
}

// Failed returns how many requests failed.
func (r *Result) Failed() (n int64) {
	for _, f := range r.Failures {
		n += f.Count
	}
	return n
}

func (r *Result) add(q request, outstanding int) {
	r.MostOutstanding = max(r.MostOutstanding, outstanding)
	if !errors.Is(q.err, errNotSent) {
		record(r.Late, q.sent.Sub(q.due))
	}
	if q.err != nil {
		kind := kindOf(q.err)
		f, seen := r.Failures[kind]
		if !seen {
			f.Example = q.err.Error()
		}
		f.Count++
		r.Failures[kind] = f
		return
	}
	r.Successes++
	if q.denied {
		r.Denied++
	}
	record(r.Latency, q.ended.Sub(q.due))
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(1, d.Nanoseconds()), longest.Nanoseconds())) // within its bounds
}

// The kinds of failures that a driver without CPU may bring about.
const (
	NotSent = "not sent"
	TooLate = "DeadlineExceeded"
)

// kindOf says in a word what went wrong: for what gRPC says, the name of its code.
func kindOf(err error) string {
	switch {
	case errors.Is(err, errNotSent):
		return NotSent
	case errors.Is(err, errUndecided):
		return "no decision"
	case errors.Is(err, errNoLimit):
		return "no limit"
	case errors.Is(err, context.DeadlineExceeded):
		return TooLate
	}
	if s, ok := status.FromError(err); ok {
		return s.Code().String()
	}
	return "other"
}
