package redisotel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	redisotel "github.com/redislanes/redislanes/otel"
	"github.com/redislanes/redislanes/redistest"
)

// global is the code of README.md.
func global(ctx context.Context, addrs []string) error {
	observer, err := redisotel.New() // with the global providers
	if err != nil {
		return err
	}
	defer observer.Close()
	client, err := cluster.Config{Trace: observer.Trace()}.New(ctx, addrs)
	if err != nil {
		return err
	}
	return client.Close()
}

func TestReadme(t *testing.T) {
	require.NoError(t, global(t.Context(), redistest.StartEmulated(t, 1).Addrs()))
}
