package cause

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
)

// What a command is refused for before it is sent.
var (
	// ErrNotPipelinable refuses a command that cannot travel with others: one that may block
	// its connection or changes its state.
	ErrNotPipelinable error = &refusal{"command cannot be pipelined, use Client.Do or radix.WithConn", redislanes.ErrShared}

	// ErrNoWrites refuses WAIT and WAITAOF outside of radix.WithConn. They wait for the
	// writes that were sent over their own connection, so on any other connection they
	// answer at once for writes that they do not know.
	ErrNoWrites error = &refusal{"command waits for the writes of its own connection, use radix.WithConn for it and the writes", redislanes.ErrShared}

	// ErrUnanswered refuses commands after which replies are not one for each command: SUBSCRIBE,
	// MONITOR, CLIENT REPLY, REPLCONF, SYNC and PSYNC.
	ErrUnanswered error = &refusal{"command that is not answered with one reply, use a connection of Client.Dial", redislanes.ErrShared}

	// ErrReturned refuses what is sent over a dedicated connection after it was returned: somebody
	// else may have it.
	ErrReturned = fmt.Errorf("dedicated connection used after its return: %w", redislanes.ErrNotSent)

	// ErrRetired says that the server is none of the cluster's any more, so that its pool
	// takes nothing new.
	ErrRetired = fmt.Errorf("server has left the cluster: %w", redislanes.ErrNotSent)
)

// ErrOvertaken marks commands that were refused, and were not sent again because a later
// command of the same slot in the same request has run by then, or may have: they would have
// undone what it did. Their outcome is ErrRefused, or ErrUnknownOutcome for a command that
// may run twice.
var ErrOvertaken = errors.New("not sent again, since a later command of its slot has run")

// Why a server is down.
var (
	// ErrStalled is the cause when a connection was closed because the server sent nothing
	// for longer than the stall timeout.
	ErrStalled = errors.New("server stalled: no byte arrived for longer than the stall timeout")

	// ErrSuspect is the cause of a Down whose server has sent nothing for an unusual time
	// though batches are in flight, and has not answered over another connection either. The
	// connections stay open for pool.Options.StallTimeout: any byte, or an answer, ends the
	// suspicion.
	ErrSuspect = errors.New("suspect: no byte arrives, and it does not answer over another connection")
)

// What a program does wrong with a call.
var (
	ErrNilContext = fmt.Errorf("the context is nil, pass one such as context.Background(): %w", redislanes.ErrNotSent)
	ErrNilAction  = fmt.Errorf("the action is nil: %w", redislanes.ErrNotSent)
)

// What a program does wrong with a pipeline.
var (
	// ErrPending is the error of a reply before Do has returned.
	ErrPending = errors.New("redislanes: no reply yet: call Do before the Reply is read")

	// ErrStale is the error of a reply whose pipeline was reset.
	ErrStale = errors.New("redislanes: the pipeline was reset since this Reply was given: read it before Reset")

	// ErrExecuted says that a pipeline was done before, and not Reset since. A second Do
	// would count twice: it sends nothing, and the replies of the first one stay. A command
	// that is appended in between is refused with it, as not sent.
	ErrExecuted = errors.New("the pipeline was done already: call Reset before it is used again")
)

// Exhausted returns [redislanes.ErrExhausted] with the limit that was reached, such as "10 connections in use",
// "4096 callers waiting" or "1024 batches in flight on every lane, or 8388608 bytes queued".
func Exhausted(limit string) error {
	return &refusal{"pool exhausted: " + limit + "; raise the limit, or shed load", redislanes.ErrExhausted}
}

// Hidden returns an error with the text, in which errors.Is and errors.As find the other one. Its own text may
// show arguments.
func Hidden(text string, err error) error { return &refusal{text, err} }

// A refusal is an error with a text of its own that wraps another one.
type refusal struct {
	text string
	is   error
}

func (r *refusal) Error() string { return r.text }

// Unwrap returns what the refusal is.
func (r *refusal) Unwrap() error { return r.is }

// A Down is [redislanes.ErrDown] with the server and why it is down.
type Down struct {
	Addr   string
	Since  time.Time     // when its silence began, or the first dial failed
	Cause  error         // such as ErrSuspect, ErrStalled or a dial's error
	Lasted time.Duration // from Since to when the error was made
}

func (d *Down) Error() string {
	return fmt.Sprintf("server down for %s: %s", seconds(d.Lasted), text(d.Cause, d.Addr))
}

// Unwrap returns ErrDown and the cause.
func (d *Down) Unwrap() []error { return []error{redislanes.ErrDown, d.Cause} }

// A Wait says that the context of a batch, or of a user that wanted to get
// a connection, ended while it waited.
type Wait struct {
	Waited  time.Duration
	Used    int    // connections in use at that moment; of shared ones, batches in flight
	Of      int    // how many may be
	What    string // "in use" or "in flight", perhaps "for slow commands"
	Dialing int    // connections that were being made
	Waiting int    // callers that waited, that one included
	Failed  error  // why the last dial has failed; nil: it has not
	Cause   error  // the context's error
}

func (e *Wait) Error() string {
	dialing := ""
	if e.Dialing > 0 {
		dialing = fmt.Sprintf(", %d being dialled", e.Dialing)
	}
	if e.Failed != nil {
		dialing += fmt.Sprintf(", the last dial failed (%v)", e.Failed)
	}
	unit := time.Millisecond
	if e.Waited < 10*unit {
		unit = time.Microsecond
	}
	return fmt.Sprintf("waited %v, %d of %d %s%s, %d waiting: %v", e.Waited.Round(unit), e.Used, e.Of, e.What, dialing, e.Waiting, e.Cause)
}

// Unwrap returns the cause.
func (e *Wait) Unwrap() error { return e.Cause }

// text returns what err says as part of the text of an error that has said the prefix and
// the address already.
func text(err error, addr string) string {
	return strings.TrimPrefix(strings.TrimPrefix(fmt.Sprint(err), "redislanes: "), addr+": ")
}

// A Tried is the cause of a command's failure with how long the command was tried in vain,
// and how long the outage has lasted that it met.
type Tried struct {
	Where string        // "node 127.0.0.1:7000", "slot 866" or, if no slot is served, "the whole cluster"; "" if only redirects were followed
	For   time.Duration // how long the outage had lasted when the command was given up
	Tries int           // how often the command was sent, or could not be sent
	Took  time.Duration // from the end of the first try to the end of the last
	Err   error
}

// Error ends with, for example,
// "(after 5 tries in 0.9 s; node 127.0.0.1:7000 unavailable for 1.2 s)".
func (t *Tried) Error() string {
	tries := "1 try"
	switch {
	case t.Tries > 1:
		tries = fmt.Sprintf("%d tries in %s", t.Tries, seconds(t.Took))
	case t.Tries == 0:
		tries = "no try"
	}
	why := strings.TrimSuffix(t.Err.Error(), ": "+redislanes.ErrNotSent.Error()) // the redislanes.Error says it
	if t.Where == "" {
		return fmt.Sprintf("%s (after %s)", why, tries)
	}
	return fmt.Sprintf("%s (after %s; %s unavailable for %s)", why, tries, t.Where, seconds(t.For))
}

// Unwrap returns Err.
func (t *Tried) Unwrap() error { return t.Err }

// seconds prints a time in a unit that fits.
func seconds(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// An Unreachable says that none of the addresses answered, or gave a map of
// the slots that can be used, and why.
type Unreachable struct {
	Causes []OfAddr
}

// An OfAddr is what went wrong with one address.
type OfAddr struct {
	Addr string
	Err  error
}

// Error lists each address with its cause; addresses with the same cause, such
// as a wrong password, share it.
func (e *Unreachable) Error() string {
	var texts []string
	addrs := make(map[string][]string)
	for _, c := range e.Causes {
		text := text(c.Err, c.Addr)
		if addrs[text] == nil {
			texts = append(texts, text)
		}
		addrs[text] = append(addrs[text], c.Addr)
	}
	for i, text := range texts {
		texts[i] = strings.Join(addrs[text], ", ") + ": " + text
	}
	return "redislanes: no node gives a map of the slots: " + strings.Join(texts, "; ")
}

// Unwrap returns the causes.
func (e *Unreachable) Unwrap() []error {
	errs := make([]error, len(e.Causes))
	for i, c := range e.Causes {
		errs[i] = c.Err
	}
	return errs
}
