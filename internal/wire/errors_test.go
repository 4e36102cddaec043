package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/lanes"
)

func TestOutcomeErrorHasOneOutcome(t *testing.T) {
	op := &net.OpError{Op: "read", Net: "tcp", Err: errors.New("reset")}
	for _, cause := range []error{ErrClosed, redislanes.ErrShared, context.Canceled, op, fmt.Errorf("x: %w", redislanes.ErrUnknownOutcome), NotSent("b:2", op)} {
		unknown := &redislanes.Error{Addr: "a:1", Outcome: redislanes.ErrUnknownOutcome, Cause: cause}
		wantOutcome(t, unknown, redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, unknown, cause)
		wantOutcome(t, NotSent("a:1", unknown), redislanes.ErrNotSent)
		wantOutcome(t, fmt.Errorf("around it: %w", unknown), redislanes.ErrUnknownOutcome)
		wantOutcome(t, NotSent("a:1", cause), redislanes.ErrNotSent)
	}
	err := &redislanes.Error{Addr: "a:1", Outcome: redislanes.ErrUnknownOutcome, Cause: op}
	var found *net.OpError
	require.ErrorAs(t, err, &found)
	assert.Same(t, op, found)
	assert.EqualError(t, err, "redislanes: a:1: outcome unknown: read tcp: reset")
	assert.EqualError(t, NotSent("", op), "redislanes: not sent: read tcp: reset", "no server was chosen yet")
}

func TestNotSentKeepsWhatSaysSoAlready(t *testing.T) {
	first := NotSent("a:1", context.Canceled)
	assert.Same(t, first, NotSent("b:2", first))
	assert.ErrorIs(t, ErrClosed, redislanes.ErrNotSent)
	assert.ErrorIs(t, redislanes.ErrShared, redislanes.ErrNotSent)
}

// TestNamed: the error of a command has the outcome of what it is made of, and says nothing
// twice.
func TestNamed(t *testing.T) {
	t.Parallel()
	lost := Unknown("a:1", io.EOF)
	for want, c := range map[string]struct {
		err     error
		outcome error
	}{
		"redislanes: SET on a:1: outcome unknown: EOF":                 {lost, redislanes.ErrUnknownOutcome},
		"redislanes: SET on a:1: outcome unknown: b:2: EOF":            {Unknown("b:2", io.EOF), redislanes.ErrUnknownOutcome},
		"redislanes: SET on a:1: not sent: the pool is closed":         {fmt.Errorf("the pool is %w", redislanes.ErrClosed), redislanes.ErrNotSent},
		"redislanes: SET on a:1: not sent: " + errNoConnection.Error(): {NotSent("a:1", errNoConnection), redislanes.ErrNotSent},
		"redislanes: SET on a:1: WRONGTYPE …":                          {cause.Said("WRONGTYPE no"), nil},
		"redislanes: SET on a:1: OOM no: refused by the server":        {fmt.Errorf("OOM no: %w", redislanes.ErrRefused), redislanes.ErrRefused},
		"redislanes: SET on a:1: not sent: EOF (after no try)":         {&redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: &cause.Tried{Err: io.EOF}}, redislanes.ErrNotSent},
		"redislanes: SET on a:1: not sent: closed (after no try)":      {&redislanes.Error{Outcome: redislanes.ErrNotSent, Cause: &cause.Tried{Err: redislanes.ErrClosed}}, redislanes.ErrNotSent},
	} {
		named := Named("SET", "a:1", c.err)
		require.EqualError(t, named, want)
		require.Equal(t, c.outcome, named.Outcome, want)
	}
	require.Empty(t, lost.Command, "the commands of a batch share it")
}

var errNoConnection = errors.New("no connection")

// counted sends the batch to a scripted server, and returns the error replies by their codes.
func counted(t *testing.T, d lanes.Dialer, b *Batch, handler func(p *peer)) map[string]uint64 {
	l := dialWith(t, d, scripted(t, handler), noEvents{})
	var count ErrorCount
	l.Errors = &count
	RoundTrip(within(t, patience), l, b)
	return count.ByCode()
}

// TestErrorRepliesAreCounted: each by the first word of its text, however its bytes
// arrive, and only if it is the reply itself.
func TestErrorRepliesAreCounted(t *testing.T) {
	replies := []string{
		"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
		":1\r\n",
		"-MOVED 866 127.0.0.1:7001\r\n",
		"-CANARY made up by the server\r\n",
		"-ERR\r\n",
		"!21\r\nSYNTAX invalid syntax\r\n",
		"*2\r\n-OOM inside of another reply\r\n:1\r\n",
		"|1\r\n+k\r\n+v\r\n-OOM with attributes\r\n",
		"+OOM\r\n",
	}
	b := newTrip(slices.Repeat([][]string{{"GET", "k"}}, len(replies))...)
	count := counted(t, lanes.Dialer{}, b, func(p *peer) {
		if !p.take(len(replies)) {
			return
		}
		for _, piece := range bytewise(strings.Join(replies, "")) {
			if !p.send(piece) {
				return
			}
		}
		p.take(1)
	})
	require.Len(t, b.texts(), len(replies))
	require.Equal(t, map[string]uint64{"OOM": 2, "MOVED": 1, "ERR": 1, "other": 2}, count)
}

// TestErrorRepliesBeforeTheEndAreCounted: those of a batch that does not get all of
// its replies, as well.
func TestErrorRepliesBeforeTheEndAreCounted(t *testing.T) {
	b := newTrip([]string{"GET", "k"}, []string{"GET", "k"})
	count := counted(t, lanes.Dialer{}, b, func(p *peer) {
		p.take(2)
		p.send("-NOPERM no\r\n")
	})
	require.True(t, b.Failed())
	require.Equal(t, map[string]uint64{"NOPERM": 1}, count)
}

// TestErrorRepliesOfPingsAreNotCounted: a server that permits no PING refuses nothing
// that a caller wants.
func TestErrorRepliesOfPingsAreNotCounted(t *testing.T) {
	b := newTrip([]string{"PING"})
	b.uncounted = true
	count := counted(t, lanes.Dialer{}, b, func(p *peer) {
		p.take(1)
		p.send("-NOPERM no\r\n")
		p.take(1)
	})
	require.Equal(t, 1, b.Errors())
	require.Empty(t, count)
}

func TestErrorCode(t *testing.T) {
	for text, want := range map[string]string{
		"OOM": "OOM", "OOM x": "OOM", "oom x": "other", "": "other", " OOM": "other", "other": "other", "OOMX y": "other",
		"CLUSTERDOWN Hash slot not served": "CLUSTERDOWN",
	} {
		require.Equal(t, want, ErrorCode([]byte(text)), text)
	}
	codes := ErrorCodes()
	require.Equal(t, "other", codes[len(codes)-1])
	for _, code := range codes {
		require.Equal(t, code, ErrorCode([]byte(code+" x")))
	}
	text := []byte("TRYAGAIN Multiple keys request during rehashing of slot")
	require.Zero(t, testing.AllocsPerRun(100, func() { ErrorCode(text) }))
}
