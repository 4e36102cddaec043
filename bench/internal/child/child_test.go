package child

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
)

func TestMain(m *testing.M) {
	Main()
	leak.Main(m)
}

var doubling = NewRole("doubling", func(n int) (int, error) {
	switch {
	case n == 0:
		return 0, errors.New("nothing to double")
	case n < 0:
		select {} // no answer
	}
	return 2 * n, nil
})

func TestRole(t *testing.T) {
	p, answer, err := doubling.Start(t.Context(), 21)
	require.NoError(t, err)
	require.Equal(t, 42, answer)
	require.NotEqual(t, os.Getpid(), p.ID())
	require.NoError(t, p.Close(), "it ends when its input does")

	_, _, err = doubling.Start(t.Context(), 0)
	require.ErrorContains(t, err, "exit status 1")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err = doubling.Start(ctx, -1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
