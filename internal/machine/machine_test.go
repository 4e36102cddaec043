package machine

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThis(t *testing.T) {
	m := This()
	require.Equal(t, runtime.GOOS, m.OS)
	require.Equal(t, runtime.NumCPU(), m.CPUs)
	require.NotZero(t, m.Date)
	require.Regexp(t, `^([0-9a-f]{12}\+?)?$`, m.Commit)
}

func TestShortCommit(t *testing.T) {
	require.Equal(t, "0123456789ab", short("0123456789abcdef", false))
	require.Equal(t, "0123456789ab+", short("0123456789abcdef", true))
	require.Equal(t, "01", short("01", false))
}
