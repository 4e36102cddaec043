package bridge

import (
	"errors"
	"io"
	"testing"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
)

// TestUsable: an error says so once, and keeps its text, its outcome and its place at the top.
func TestUsable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, cause.Said("WRONGTYPE no"), wire.NotSent("a:1", io.EOF), wire.Named("SET", "a:1", cause.Said("WRONGTYPE no"))} {
		usable := Usable(err)
		require.ErrorAs(t, usable, new(radixresp.ErrConnUsable))
		require.False(t, errors.As(err, new(radixresp.ErrConnUsable)), "others have it, too")
		require.EqualError(t, usable, err.Error())
		require.Equal(t, wire.Top(err) == nil, wire.Top(usable) == nil)
		require.Equal(t, errors.Is(err, redislanes.ErrNotSent), errors.Is(usable, redislanes.ErrNotSent))
		require.Equal(t, usable, Usable(usable))
	}
}
