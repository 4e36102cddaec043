package sim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
)

// A call of a client that has found no server says why, once it has looked for one.
func TestLazySaysWhy(t *testing.T) {
	said := fmt.Errorf("%w: %w", &cause.Unreachable{}, redislanes.ErrNotSent)
	h := &History{Asleep: asleep, Calls: []*Call{{Err: errNotSent}, {Began: 2 * tells, Ended: 2 * tells, Err: said}}}
	require.Empty(t, lazy(h))
	h.Calls[1].Err = errNotSent
	require.Contains(t, lazy(h), "does not say why")
}
