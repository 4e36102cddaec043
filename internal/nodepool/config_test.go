package nodepool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// TestAddressesWithPasswords: a URL in place of an address is refused, without its password.
func TestAddressesWithPasswords(t *testing.T) {
	t.Parallel()
	_, err := Dial(t.Context(), Settings{}, lanes.Dialer{}, "redis://:canary@h:1")
	require.ErrorContains(t, err, "Dialer.Password")
	require.NotContains(t, err.Error(), "canary")
	_, err = NewFor(Settings{}, lanes.Dialer{Protocol: 7}, wire.Purpose{}, "127.0.0.1:1", nil)
	require.ErrorContains(t, err, "Protocol = 7")
}
