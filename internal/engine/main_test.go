package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// open returns a client that is closed at the test's end.
func open(t testing.TB, c Config, addrs []string) *Client {
	t.Helper()
	client, err := c.New(servers.Within(t, 10*time.Second), addrs)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// do sends one command.
func (c *Client) do(ctx context.Context, name string, words ...string) error {
	arguments := make([]any, len(words))
	for i, word := range words {
		arguments[i] = word
	}
	return c.Cmd(ctx, name, arguments).Err()
}
