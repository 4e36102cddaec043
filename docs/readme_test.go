// Package docs_test holds the Go code of README.md and of the pages in this folder, so that it
// compiles. TestCodeInPages of internal/api looks for it here and in the examples.
package docs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// count is the pipeline of README.md.
func count(ctx context.Context, client *cluster.Client) (allowed bool, err error) {
	p := pipeline.New(client)                  // for one goroutine; Reset it for the next request
	user := p.Count("user:42", 1, time.Minute) // a counter that expires a minute after its first hit
	views := p.Cmd("ZINCRBY", "views", "1", "/login")
	_ = p.Do(ctx)                                                    // give ctx a deadline; each reply has its own error
	total, err := user.Int()                                         // if errors.Is(err, redislanes.ErrUnknownOutcome), it may have been counted: do not count it again
	return err != nil || total <= 100, errors.Join(err, views.Err()) // fail open
}

func connect(t *testing.T) *cluster.Client {
	client, err := cluster.Config{}.New(t.Context(), redistest.StartEmulated(t, 3).Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestReadme(t *testing.T) {
	client := connect(t)
	for range 100 {
		allowed, err := count(t.Context(), client)
		require.NoError(t, err)
		require.True(t, allowed)
	}
	allowed, err := count(t.Context(), client)
	require.NoError(t, err)
	require.False(t, allowed)
}
