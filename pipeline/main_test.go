package pipeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

var within = servers.Within

func open(t testing.TB, c cluster.Config, addrs []string) *cluster.Client {
	t.Helper()
	client, err := c.New(within(t, 10*time.Second), addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// requireInt requires that the reply is the number.
func requireInt(t *testing.T, want int64, reply pipeline.Reply) {
	t.Helper()
	n, err := reply.Int()
	require.NoError(t, err)
	require.Equal(t, want, n)
}
