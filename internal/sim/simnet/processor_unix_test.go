//go:build unix

package simnet

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
