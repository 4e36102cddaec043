package lanes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a batch has grown for one large reply it gives back when the next ones
// are small, but not from one large reply to the next.
func TestReplyBuffersShrink(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	l := dial(t, scripted(t, (*peer).echo))
	b := new(Batch)
	echo := func(text string) int {
		b.fill(NewCall(), []string{"ECHO", text})
		RoundTrip(within(t, patience), l, b.call, b)
		reply, err := b.Reply(0)
		require.NoError(t, err)
		require.Greater(t, len(reply), len(text))
		return cap(b.buf)
	}
	require.Greater(t, echo(large), 1<<20)
	require.Greater(t, echo(large), 1<<20)
	for range SpareTrips {
		require.Greater(t, echo("small"), 1<<20, "not at once")
		echo(large)
	}
	for range SpareTrips {
		echo("small")
	}
	require.Less(t, echo("small"), 1<<10)
}
