package closed

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var sent int64
	wait := func(ctx context.Context) error {
		sent++
		time.Sleep(time.Millisecond) // a request that takes so long
		return ctx.Err()
	}
	r, err := Run(t.Context(), []func(context.Context) error{wait}, 20*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, sent, r.Requests)
	require.GreaterOrEqual(t, r.Took, 20*time.Millisecond)
	require.GreaterOrEqual(t, r.At(50), time.Millisecond)

	sent = 0
	r, err = Count(t.Context(), []func(context.Context) error{wait}, 7)
	require.NoError(t, err)
	require.EqualValues(t, 7, sent)
	require.EqualValues(t, 7, r.Requests)

	failed := errors.New("failed")
	_, err = Run(t.Context(), []func(context.Context) error{wait, func(context.Context) error { return failed }}, time.Hour)
	require.ErrorIs(t, err, failed)
}
