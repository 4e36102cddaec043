package redistest

import (
	"testing"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"
)

func TestKeysInSlots(t *testing.T) {
	t.Parallel()
	seen := map[uint16]bool{}
	for _, key := range KeysInSlots(10, "p") {
		seen[radix.ClusterSlot([]byte(key))] = true
	}
	require.Len(t, seen, 10)
}
