package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestDatabasesOfACluster: Valkey 9 with cluster-databases has more than database 0 in a
// cluster. Other servers refuse the number when New connects.
func TestDatabasesOfACluster(t *testing.T) {
	options := servers.Options{Primaries: 2}
	numbered := servers.StartCluster(t, options)
	second := cluster.Config{Dialer: lanes.Dialer{Database: 1}}
	if !numbered.IsValkey() || numbered.Major() < 9 {
		_, err := second.New(t.Context(), numbered.Addrs())
		require.ErrorContains(t, err, "SELECT")
		return
	}
	options.Directives = []string{"cluster-databases 16"}
	numbered = servers.StartCluster(t, options)
	client, err := second.New(t.Context(), numbered.Addrs())
	require.NoError(t, err)
	defer client.Close()
	first, err := cluster.Config{}.New(t.Context(), numbered.Addrs())
	require.NoError(t, err)
	defer first.Close()
	for _, key := range []string{"a", "b", "c"} { // on both nodes
		require.NoError(t, client.Cmd(t.Context(), "SET", key, "in database 1").Err())
		require.True(t, first.Cmd(t.Context(), "GET", key).IsNull())
		got, err := client.Cmd(t.Context(), "GET", key).Text()
		require.NoError(t, err)
		require.Equal(t, "in database 1", got)
	}
}
