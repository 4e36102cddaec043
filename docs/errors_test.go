package docs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

func sorted(ctx context.Context, client *cluster.Client) (int64, string) {
	total, err := client.Cmd(ctx, "INCRBY", "hits", 1).Int()
	switch {
	case err == nil:
		return total, "counted"
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		return 0, "perhaps counted: do not count it again"
	case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrRefused):
		return 0, "not counted: count it again later, or let the request pass"
	default:
		return 0, "the command is wrong: " + err.Error() // such as WRONGTYPE
	}
}

func details(err error) (since time.Time, code string) {
	var e *redislanes.Error
	if errors.As(err, &e) {
		since = e.Since // since when the node or slot refuses; zero if it does not
	}
	var reply resp3.SimpleError
	if errors.As(err, &reply) {
		code = reply.S // as the server sent it; may hold arguments
	}

	return since, code
}

func TestErrors(t *testing.T) {
	servers := redistest.StartEmulated(t, 1)
	client, err := cluster.Config{RetryWindow: -1}.New(t.Context(), servers.Addrs())
	require.NoError(t, err)
	defer client.Close()
	_, said := sorted(t.Context(), client)
	require.Equal(t, "counted", said)
	require.NoError(t, client.Cmd(t.Context(), "RPUSH", "list", "x").Err())
	_, code := details(client.Cmd(t.Context(), "INCRBY", "list", 1).Err())
	require.Contains(t, code, "WRONGTYPE")
	require.NoError(t, client.Cmd(t.Context(), "DEL", "hits").Err())
	require.NoError(t, client.Cmd(t.Context(), "RPUSH", "hits", "x").Err())
	_, said = sorted(t.Context(), client)
	require.Contains(t, said, "the command is wrong")
	_ = servers.Close()
	require.Eventually(t, func() bool {
		_, said := sorted(t.Context(), client)
		return said == "not counted: count it again later, or let the request pass"
	}, 10*time.Second, time.Millisecond)
	since, _ := details(client.Cmd(t.Context(), "INCRBY", "hits", 1).Err())
	require.False(t, since.IsZero())
}
