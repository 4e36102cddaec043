package servers

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPortsAreKept: no other cluster gets the ports of a cluster, whether its nodes run or not.
func TestPortsAreKept(t *testing.T) {
	t.Parallel()
	var mine, other Cluster
	defer other.giveUpPorts()
	found, err := mine.freePorts(1)
	require.NoError(t, err)
	for _, port := range []int{found[0].clients, found[0].bus} {
		require.False(t, other.claim(port))
	}
	claim := mine.claims[0]
	mine.giveUpPorts()
	require.ErrorIs(t, claim.SetDeadline(time.Time{}), net.ErrClosed)
}
