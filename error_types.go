package redislanes

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/resp"
)

// prefix is what the text of every typed error of a call begins with. Errors about
// settings begin with the package that has them.
const prefix = "redislanes: "

// text returns what err says as part of the text of an error that wraps it, and
// that has said the prefix and the address already.
func text(err error, addr string) string {
	s := strings.TrimPrefix(fmt.Sprint(err), prefix)
	if addr != "" {
		s = strings.TrimPrefix(s, addr+": ")
	}
	return s
}

// An Error says what became of one command. errors.Is finds its Outcome, and what Cause
// wraps except for outcomes: a closed connection wraps [ErrNotSent], but a command that was
// sent over it has an unknown outcome. If the server replied with an error, errors.As finds
// a resp3.SimpleError with the text as the server sent it, which may hold arguments. The
// text of an Error never does. An Error must not be changed: several commands may share it.
type Error struct {
	Command string    // its name, in capitals; "" if the error is about a connection or a whole action
	Addr    string    // the node, host:port; "" if none was chosen
	Outcome error     // ErrNotSent, ErrUnknownOutcome or ErrRefused; nil if there is a reply: an error about the command, or one that cannot be decoded
	Tries   int       // how often a cluster client sent the command, or could not send it; 0 if it did not try
	Since   time.Time // when the outage began that the command met, as far as the client knows; zero if it met none
	Cause   error     // why, such as an I/O error, the context's, [ErrDown] or the server's reply
}

// Error names the command, the node, the outcome and the cause, and ends for example with
// "(after 5 tries in 0.9 s; node 127.0.0.1:7000 in trouble for 1.2 s)".
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	switch {
	case e.Command != "" && e.Addr != "":
		parts = append(parts, e.Command+" on "+e.Addr)
	case e.Command != "" || e.Addr != "":
		parts = append(parts, e.Command+e.Addr)
	}
	why := ""
	if e.Cause != nil {
		why = text(e.Cause, e.Addr)
		if e.Command != "" {
			why = strings.TrimPrefix(why, e.Command+": ")
		}
	}
	if e.Outcome != nil && e.Outcome != ErrRefused { // the server's reply says that
		parts = append(parts, e.Outcome.Error())
		why = strings.TrimSuffix(why, ": "+ErrNotSent.Error())
	}
	if why != "" {
		parts = append(parts, why)
	}
	return prefix + strings.Join(parts, ": ")
}

// Unwrap returns the outcome, if there is one, and the cause.
func (e *Error) Unwrap() []error {
	switch {
	case e.Cause == nil && e.Outcome == nil:
		return nil
	case e.Cause == nil:
		return []error{e.Outcome}
	case e.Outcome == nil:
		return []error{cause{e.Cause}}
	}
	return []error{e.Outcome, cause{e.Cause}}
}

// A cause is an error but for the outcomes in it: by one that wraps ErrNotSent, an
// INCRBY of which the outcome is unknown would be sent again.
type cause struct{ error }

func (c cause) Is(target error) bool {
	return target != ErrNotSent && target != ErrUnknownOutcome && target != ErrRefused && errors.Is(c.error, target)
}

func (c cause) As(target any) bool { return errors.As(c.error, target) }

// An ExhaustedError is ErrExhausted with the server and the limit that was
// reached.
type ExhaustedError struct {
	Addr  string
	Limit string // such as "10 connections in use", "4096 callers waiting" or "1024 batches in flight on every lane (MaxInFlight)"
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf(prefix+"%s: pool exhausted: %s; raise the limit, or shed load", e.Addr, e.Limit)
}

// Unwrap returns ErrExhausted.
func (e *ExhaustedError) Unwrap() error { return ErrExhausted }

// A WaitError says that the context of a batch, or of a user that wanted to be lent
// a connection, ended while it waited. It is found by errors.As; the error of the
// command wraps ErrNotSent and the context's error.
type WaitError struct {
	Waited  time.Duration
	Used    int    // connections in use at that moment; of shared ones, batches in flight
	Of      int    // how many may be
	What    string // "in use" or "in flight", perhaps "for slow commands"
	Dialing int    // connections that were being made
	Waiting int    // callers that waited, that one included
	Cause   error  // the context's error
}

func (e *WaitError) Error() string {
	dialing := ""
	if e.Dialing > 0 {
		dialing = fmt.Sprintf(", %d being dialled", e.Dialing)
	}
	unit := time.Millisecond
	if e.Waited < 10*unit {
		unit = time.Microsecond
	}
	return fmt.Sprintf("waited %v, %d of %d %s%s, %d waiting: %v", e.Waited.Round(unit), e.Used, e.Of, e.What, dialing, e.Waiting, e.Cause)
}

// Unwrap returns the cause.
func (e *WaitError) Unwrap() error { return e.Cause }

// A DownError is ErrDown with the server and the cause.
type DownError struct {
	Addr   string
	Since  time.Time     // when its silence began, or the first dial failed
	Cause  error         // such as ErrSuspect, ErrStalled or a dial's error
	Lasted time.Duration // from Since to when the error was made
}

func (e *DownError) Error() string {
	return fmt.Sprintf(prefix+"%s: server down for %v: %s", e.Addr, e.Lasted.Round(time.Millisecond), text(e.Cause, e.Addr))
}

// Unwrap returns ErrDown and the cause.
func (e *DownError) Unwrap() []error { return []error{ErrDown, e.Cause} }

// A HandshakeError says that a server will not do as it is: it has refused a
// command with which a connection begins (a wrong password, too many clients), or
// it is no Redis server, or speaks TLS and the lanes.Dialer does not. It holds no
// credentials.
//
// A refusal that may end soon (BUSY, LOADING, MASTERDOWN, too many clients, a text that no
// server sends) is waited for: the connection is dialled again with backoff, commands go
// again within cluster.Config.DownGrace, and cluster.Config.New waits. Any other one is final.
type HandshakeError struct {
	Command string // that was refused, such as AUTH; "" if the server refuses whatever comes, or is none of Redis
	Reply   string // the server's error, quoted; "" if that is not the reason
	Hint    string // what is probably wrong and what to do about it; may be ""
	Cause   error  // what was wrong with what the server sent, if that is the reason, or with what Dialer.Credentials returned
}

func (e *HandshakeError) Error() string {
	parts := []string{"handshake"}
	if e.Command != "" {
		parts = append(parts, e.Command)
	}
	switch {
	case e.Reply != "":
		parts = append(parts, e.Reply)
	case e.Cause != nil:
		parts = append(parts, e.Cause.Error())
	}
	text := strings.Join(parts, ": ")
	switch {
	case e.Hint == "":
		return text
	case e.Reply == "" && e.Cause == nil:
		return text + ": " + e.Hint
	}
	return text + "; " + e.Hint
}

// Unwrap returns Cause.
func (e *HandshakeError) Unwrap() error { return e.Cause }

// Code returns the first word of the server's error, such as NOAUTH, WRONGPASS,
// NOPERM, LOADING or ERR; "" if there is none.
func (e *HandshakeError) Code() string {
	text, _ := strconv.Unquote(e.Reply)
	code, _, _ := strings.Cut(text, " ")
	return code
}

// An UnreachableError says that none of the addresses answered, or gave a map of
// the slots that can be used, and why.
type UnreachableError struct {
	Causes []AddrError
}

// An AddrError is what went wrong with one address.
type AddrError struct {
	Addr string
	Err  error
}

// Error lists each address with its cause; addresses with the same cause, such
// as a wrong password, share it.
func (e *UnreachableError) Error() string {
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
	what := "no node answers"
	if slices.ContainsFunc(e.Causes, AddrError.answered) {
		what = "no node gives a map of the slots"
	}
	return prefix + what + ": " + strings.Join(texts, "; ")
}

// answered tells whether the error is, or is about, what a server sent.
func (e AddrError) answered() bool {
	var greeting *HandshakeError
	var reply resp3.SimpleError
	var said *MapError
	return errors.As(e.Err, &greeting) || errors.As(e.Err, &reply) || errors.As(e.Err, &said) || errors.Is(e.Err, resp.ErrProtocol)
}

// Unwrap returns the causes.
func (e *UnreachableError) Unwrap() []error {
	errs := make([]error, len(e.Causes))
	for i, c := range e.Causes {
		errs[i] = c.Err
	}
	return errs
}

// A MapError says why a server's map of the slots is not used.
type MapError struct {
	Addr   string
	Reason string
}

func (e *MapError) Error() string {
	return fmt.Sprintf("%s: its map of the slots is not used: %s", e.Addr, e.Reason)
}

// A CrossSlotError tells which command has keys in more than one slot. It
// unwraps to ErrCrossSlot and, since the command was not sent, ErrNotSent.
// Neither it nor its text holds a key.
type CrossSlotError struct {
	Command string    // the name in upper case
	Slots   [2]uint16 // of its first key, and of the first key elsewhere
}

// Error names the command and the two slots.
func (e *CrossSlotError) Error() string {
	return fmt.Sprintf(prefix+"%s: keys in different slots, %d and %d", e.Command, e.Slots[0], e.Slots[1])
}

// Unwrap returns ErrCrossSlot and ErrNotSent.
func (e *CrossSlotError) Unwrap() []error { return []error{ErrCrossSlot, ErrNotSent} }

// A DecodeError says that a reply does not fit what it is to be decoded into.
// It does not print its cause, since radix's texts show the reply and, in a
// radix.Pipeline, the command; errors.Is and errors.As look into it.
type DecodeError struct {
	Into  string // the type of the receiver, such as *int
	Kind  byte   // the type byte of the reply; 0 if it is not known
	Index int    // which of several replies it was; the first is 0
	Cause error  `json:"-"` // its text may show the reply, and a command with its arguments
}

func (e *DecodeError) Error() string {
	what := ""
	if name := kinds[e.Kind]; name != "" {
		what = ", " + name + ","
	}
	return fmt.Sprintf(prefix+"the reply%s cannot be decoded into %s", what, e.Into)
}

var kinds = map[byte]string{
	'+': "a string", '$': "a string", '=': "a string", ':': "an integer", ',': "a number", '(': "a big number",
	'#': "a boolean", '_': "null", '*': "an array", '%': "a map", '~': "a set", '>': "a push message",
}

// Is is part of errors.Is.
func (e *DecodeError) Is(target error) bool { return errors.Is(e.Cause, target) }

// As is part of errors.As.
func (e *DecodeError) As(target any) bool { return errors.As(e.Cause, target) }

// Format prints Error for every verb: fmt would print the fields for %#v.
func (e *DecodeError) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.Error()) }

// A PipelineError says that commands of a pipeline failed. The replies have the error
// of each.
type PipelineError struct {
	Failed, Total int   // commands
	First         error // of the first command that failed
}

func (e *PipelineError) Error() string {
	return fmt.Sprintf(prefix+"%d of %d commands failed, the first: %s", e.Failed, e.Total, text(e.First, ""))
}

// Unwrap returns First.
func (e *PipelineError) Unwrap() error { return e.First }
