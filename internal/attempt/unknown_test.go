package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
)

func TestUnknown(t *testing.T) {
	t.Parallel()
	lost := &redislanes.Error{Addr: "a:1", Outcome: redislanes.ErrUnknownOutcome, Cause: io.EOF}
	notSent := fmt.Errorf("no connection: %w", redislanes.ErrNotSent)
	for name, test := range map[string]struct {
		reply   string
		err     error
		settled bool
	}{
		"a reply":                         {"+OK\r\n", nil, true},
		"an error about the command":      {"-WRONGTYPE Operation against a key\r\n", nil, true},
		"refused for now":                 {"-LOADING Redis is loading\r\n", nil, false},
		"redirected":                      {"-MOVED 1 a:1\r\n", nil, false},
		"not logged in":                   {"-NOAUTH Authentication required.\r\n", nil, false},
		"a text that no server sends":     {"-upstream failure\r\n", nil, false},
		"not sent":                        {"", notSent, false},
		"lost again":                      {"", lost, true},
		"the context has ended, not sent": {"", fmt.Errorf("%w: %w", context.DeadlineExceeded, redislanes.ErrNotSent), false},
	} {
		var d Unknown
		require.True(t, d.Settled([]byte(test.reply), test.err), name)
		require.Equal(t, Stands, d.Final())
		d.Note(lost)
		d.Note(io.ErrUnexpectedEOF)
		require.Equal(t, Ran, d.Final())
		require.Equal(t, test.settled, d.Settled([]byte(test.reply), test.err), name)
		if test.err == nil {
			continue
		}
		unknown := d.Error(test.err)
		require.ErrorIs(t, unknown, redislanes.ErrUnknownOutcome, name)
		require.ErrorIs(t, unknown, io.EOF, "the first try")
		require.NotErrorIs(t, unknown, redislanes.ErrNotSent, name)
		require.Equal(t, errors.Is(test.err, context.DeadlineExceeded), errors.Is(unknown, context.DeadlineExceeded), name)
	}
	var d Unknown
	d.Note(lost)
	require.EqualError(t, d.Error(notSent), "redislanes: a:1: outcome unknown: EOF; sent again, the repeat: no connection")
}

func TestStale(t *testing.T) {
	t.Parallel()
	const inScript = "ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write"
	for text, want := range map[string]struct{ primary, replica bool }{
		"READONLY You can't write against a read only replica.":                               {true, false},
		"READONLY You can't write against a read only replica. script: 1, on @user_script:1.": {true, false},
		inScript: {true, false},
		"UNBLOCKED force unblock from blocking operation, instance state changed": {true, false},
		"LOADING Redis is loading the dataset in memory":                          {false, false},
		"NOAUTH Authentication required.":                                         {true, true},
		"WRONGPASS invalid username-password pair":                                {false, false},
		"ERR value is not an integer":                                             {false, false},
	} {
		f := fate.Of([]byte(text))
		require.Equal(t, want.primary, Stale(f, []byte(text), false), text)
		require.Equal(t, want.replica, Stale(f, []byte(text), true), text)
	}
	require.True(t, Stale(fate.Itself, []byte("MOVED 1 a:1"), true), "whatever it is meant for")
}
