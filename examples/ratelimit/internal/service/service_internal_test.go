package service

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEarly: a tenth of the client's time is left for the answer on its way.
func TestEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ctx, done := early(client)
		defer done()
		<-ctx.Done()
		require.NoError(t, client.Err())
		end, _ := client.Deadline()
		require.Equal(t, 100*time.Millisecond, time.Until(end))
		ctx, done = early(t.Context())
		defer done()
		require.Equal(t, t.Context(), ctx)
	})
}
