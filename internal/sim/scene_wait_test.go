package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
)

// TestWaitedForDials: only who has no connection to wait for is excused by dials.
func TestWaitedForDials(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		excused bool
	}{
		"success":             {},
		"dials only":          {&cause.Wait{Of: 10, Dialing: 1, Cause: context.DeadlineExceeded}, true},
		"a connection in use": {&cause.Wait{Used: 1, Of: 10, Dialing: 1, Cause: context.DeadlineExceeded}, false},
		"nobody dials":        {&cause.Wait{Of: 10, Cause: context.DeadlineExceeded}, false},
		"refused at once":     {&cause.Down{Addr: "a:1", Cause: context.DeadlineExceeded}, false},
	} {
		err := c.err
		if err != nil {
			err = wire.NotSent("a:1", err)
		}
		require.Equal(t, c.excused, waitedForDials(err), name)
	}
}
