package sim

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/limit"
)

// An Outcome is what the client said of a command.
type Outcome uint8

// The outcomes of a command.
const (
	Pending  Outcome = iota // its call has not returned
	Acked                   // a reply that is no error
	Failed                  // an error of the server that stands
	Refused                 // redislanes.ErrRefused
	NotSent                 // redislanes.ErrNotSent
	Unknown                 // redislanes.ErrUnknownOutcome
	Contrary                // two outcomes, or none of these
)

func (o Outcome) String() string {
	return [...]string{"pending", "acknowledged", "failed", "refused", "not sent", "unknown", "contrary"}[o]
}

// outcomeOf reads the outcome from an error as the documentation says.
func outcomeOf(err error) Outcome {
	notSent, unknown := errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrUnknownOutcome)
	var said resp3.SimpleError
	switch {
	case err == nil:
		return Acked
	case notSent && unknown:
		return Contrary
	case unknown:
		return Unknown
	case notSent:
		return NotSent
	case errors.Is(err, redislanes.ErrRefused):
		return Refused
	case errors.As(err, &said):
		return Failed
	}
	return Contrary
}

// A Command is one command of a call and what the client said of it.
type Command struct {
	Text   string // name and arguments; no other command that writes has the same
	Name   string
	Key    string
	Slot   int           // -1: none
	Writes bool          // its text is unique, so that its executions can be counted
	Twice  bool          // may be executed more than once
	By     int64         // of a hit: what was added
	TTL    time.Duration // that the command promises to its key; 0: none

	Outcome Outcome
	Reply   string // as text; "(nil)" for null
	Err     error
}

// settle notes what became of the command.
func (c *Command) settle(reply string, err error) {
	c.Outcome, c.Err = outcomeOf(err), err
	if c.Outcome == Acked {
		c.Reply = reply
	}
}

// A Call is one call of the client's user. Times count from the world's
// beginning.
type Call struct {
	ID           int
	Kind         string
	Began, Ended time.Duration // Ended is negative until the call has returned
	Limit        time.Duration // when its context ends; 0: never
	Deadline     bool          // by a deadline, and not because it was cancelled
	Err          error
	Commands     []Command
}

// An Execution is a command that took effect on a primary.
type Execution struct {
	At    time.Duration
	Node  string
	Conn  uint64
	Text  string
	Key   string
	Reply string // as text
}

// A Span is a time during which something was the case.
type Span struct{ From, To time.Duration }

// A History is all that the judges know.
type History struct {
	Calls      []*Call
	Log        []Execution
	Foreign    []Execution     // at servers that are none of the cluster's
	Beyond     map[string]bool // commands, as text, of which a reply must not be believed
	Wrong      []Belief
	Faults     []Fault
	Texts      []string // of errors and log lines, if they show a secret
	TTLs       map[string]TTL
	Lost       map[string]bool          // keys of which Redis has lost what it had acknowledged
	LastLost   map[string]time.Duration // when that was last
	Allowances []*Allowance
	Start      time.Time // what times count from
	Terms      Terms
	Dead       []string // what did not work when all had healed
	Left       int      // connections of the network after Close
	Panicked   []string // what the world did not expect

	executions map[string][]int // of the log, by text, in their order; made by index
}

// A TTL is the truth about a key at the end.
type TTL struct {
	Exists bool
	Left   time.Duration // negative: none
}

// Terms are what the settings promise, as the judges need it.
type Terms struct {
	RoundTrip time.Duration // a usual one
	Primaries int
	Rules     []limit.Rule
}

// index makes the executions of a command findable by its text.
func (h *History) index() {
	h.executions = make(map[string][]int, len(h.Log))
	for i := range h.Log {
		h.executions[h.Log[i].Text] = append(h.executions[h.Log[i].Text], i)
	}
}

// A recorder gathers a history while the world runs.
type recorder struct {
	began atomic.Pointer[time.Time]

	mu sync.Mutex // guards h
	h  History
}

// begin begins a history.
func (r *recorder) begin() {
	now := time.Now()
	r.note(func(h *History) {
		*h = History{Start: now, Beyond: make(map[string]bool)}
	})
	r.began.Store(&now)
}

// at returns the time as it is noted.
func (r *recorder) at(t time.Time) time.Duration { return t.Sub(*r.began.Load()) }

func (r *recorder) now() time.Duration { return r.at(time.Now()) }

func (r *recorder) note(f func(h *History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.h)
}
