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
	case isTooMuch(err):
		return Unknown // it ran
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
	Sure   bool          // what is the matter does not concern it
	Clear  bool          // it is given to no connection that may be of no use

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
	Misuse       bool          // it has to fail, and nothing of it may be executed
	Large        bool          // takes its time over a thin link
	Blocks       bool          // takes as long as its own timeout
	Bulk         bool          // too many callers at a time, so that some are refused
	Sure         bool          // it succeeds, if nothing but its scene is about
	Soon         time.Duration // it is over after so long, if nothing but its scene is about; 0: no matter
	Split        bool          // it has a batch for each slot
	Own          bool          // it has a client of its own, which is not closed before it ends
	Spare        int           // how many connections were there for it when it began that were well and free; 0: it is not known
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

// A Dial is an attempt to connect, of a pool or for a map of the slots.
type Dial struct {
	At   time.Duration
	Addr string
}

// A Sample is what the client said of itself at a moment.
type Sample struct {
	At      time.Duration
	Addr    string // of a pool, with its role
	Role    string
	Balance int64 // Dials - DialErrors - Dialing - Open - Extra - Closes
	Pool    redislanes.PoolStats
	Errors  map[string]uint64 // error replies that the server gave until then, by code
}

// A Refreshing is how many maps of the slots were fetched until a moment, but for those
// that callers have asked for.
type Refreshing struct {
	At    time.Duration
	Count int64
	Asked int64 // those that callers have asked for
}

// A Span is a time during which something was the case.
type Span struct{ From, To time.Duration }

// A History is all that the judges know.
type History struct {
	Calls      []*Call
	Log        []Execution
	Foreign    []Execution     // at servers that are none of the cluster's
	Broken     []Span          // from a reply that broke the protocol to the connection's end
	Beyond     map[string]bool // commands, as text, of which a reply must not be believed
	Dials      []Dial
	Samples    []Sample
	Wrong      []Belief
	Unlearned  []Belief      // of slots whose owner it had known already
	Reads      []Execution   // by replicas, and by others that were not meant, of keys whose reads are noted
	Asleep     time.Duration // until when there was no server
	Ready      time.Duration // when servers were that New had to wait for
	Started    time.Duration // when New returned
	Refreshes  []Refreshing
	Faults     []Fault
	Texts      []string // of errors and log lines, if they show a secret
	Lines      []Line   // of the log, if their number is bounded
	Nodes      []string // addresses, in the order in which faults name them
	TTLs       map[string]TTL
	Lost       map[string]bool          // keys of which Redis has lost what it had acknowledged
	LastLost   map[string]time.Duration // when that was last
	Changed    map[string]time.Duration // when others did last what may have taken a key's time to live
	Allowances []*Allowance
	Start      time.Time // what times count from
	Terms      Terms
	End        time.Duration    // when the load ended
	Closing    Span             // from when to when the client was closed while callers called it; zero: it was not
	Shut       time.Duration    // when the counters were closed before that; 0: they were not
	Open       int              // connections of the network, two seconds after that
	Connected  int              // connections that the client says it has then
	Rested     time.Duration    // for how long nobody had called it when it was looked at last; 0: it was not
	Rest       []Sample         // of that moment
	HalfOpen   int              // connections then that the client has and no server
	Left       int              // connections of the network after Close
	Panicked   []string         // what the world did not expect
	Executions map[string][]int // made by index, as are the next
	Crowds     []Span
	Blocked    []Span // when callers blocked connections of their own
}

// A TTL is the truth about a key at the end.
type TTL struct {
	Exists bool
	Left   time.Duration // negative: none
}

// Terms are what the settings promise, as the judges need it.
type Terms struct {
	Grace     time.Duration // DownGrace; negative: for ever
	Notice    time.Duration // until a server that is dead is known to be
	Stall     time.Duration // until connections to it are closed
	RoundTrip time.Duration // a usual one
	LeastTrip time.Duration // the shortest one
	MaxConns  int           // to one node, by one pool
	MinConns  int           // the least size of a pool
	Law       law           // by which pools follow their load
	Rest      time.Duration // until what nobody uses is closed, and what is broken is found out
	Pings     bool          // idle connections are
	Stubborn  bool          // connections do not end when they are closed
	Closing   time.Duration // that Close may take for the user's log
	Parting   time.Duration // until dials and connections are given up that do not end
	FewCalls  bool          // the pool refuses callers when it is full
	FailFast  bool          // and only then, and each of its connections is for one caller
	Roomy     bool          // callers do not wait for each other's connections
	Askers    int           // pools of a node that may ask whether it lives
	Blind     bool          // no server is asked for a map: MOVED is all that there is to know
	Sentinels bool          // which say who the primary is
	Names     bool          // the nodes of a shard share one
	Logs      bool          // the log is written to
	Proxy     bool          // there is one before the servers
	Primaries int
	Rules     []limit.Rule
	Budget    time.Duration // of a call of the limiter
	Instances int           // that share its limits when they cannot ask Redis
}

// index makes the executions of a command findable by its text, and when there were crowds.
func (h *History) index() {
	h.Executions = make(map[string][]int, len(h.Log))
	for i := range h.Log {
		h.Executions[h.Log[i].Text] = append(h.Executions[h.Log[i].Text], i)
	}
	for _, c := range h.Calls {
		switch span := (Span{c.Began, max(c.Began, c.Ended) + 100*time.Millisecond}); {
		case c.Kind == burst || c.Large || c.Kind == swarm && !h.Terms.Roomy && h.Terms.MaxConns < leastOfASwarm:
			h.Crowds = append(h.Crowds, span)
		case c.Blocks:
			h.Blocked = append(h.Blocked, span)
		}
	}
}

// executions returns the executions of the command, in their order.
func (h *History) executions(text string) []int { return h.Executions[text] }

// A recorder gathers a history while the world runs.
type recorder struct {
	began atomic.Pointer[time.Time]

	mu sync.Mutex // guards h
	h  History
}

// begin begins a history.
func (r *recorder) begin() {
	now := time.Now()
	r.note(func(h *History) { *h = History{Start: now} })
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
