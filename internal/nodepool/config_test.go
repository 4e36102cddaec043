package nodepool

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// TestBackoff: full jitter, doubled for each failure, bounded.
func TestBackoff(t *testing.T) {
	t.Parallel()
	p := &Pool{settings: Settings{MinBackoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond}}
	for p.failures = 1; p.failures < 70; p.failures++ {
		limit := min(p.MaxBackoff, p.MinBackoff<<min(p.failures-1, 20))
		longest := time.Duration(0)
		for range 200 {
			d := p.backoffLocked()
			require.Positive(t, d)
			require.LessOrEqual(t, d, limit)
			longest = max(longest, d)
		}
		require.Greater(t, longest, limit/2, "the jitter must use the whole range")
	}
}

// TestAddressesWithPasswords: a URL in place of an address is refused, without its password.
func TestAddressesWithPasswords(t *testing.T) {
	t.Parallel()
	_, err := Dial(t.Context(), Settings{}, lanes.Dialer{}, "redis://:canary@h:1")
	require.ErrorContains(t, err, "Dialer.Password")
	require.NotContains(t, err.Error(), "canary")
	_, err = NewFor(Settings{}, lanes.Dialer{Protocol: 7}, wire.Purpose{}, "127.0.0.1:1", nil)
	require.ErrorContains(t, err, "Protocol = 7")
}
