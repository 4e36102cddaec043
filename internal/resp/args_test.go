package resp

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArgs(t *testing.T) {
	t.Parallel()
	args := ArgsOf(AppendCommand(nil, "SET", "k", "", "v"))
	for round := range 2 {
		for i, want := range []string{"SET", "k", "", "v"} {
			require.Equal(t, 4-i, args.Len())
			arg, ok := args.Next()
			require.True(t, ok)
			require.Equal(t, want, string(arg), round)
		}
		_, ok := args.Next()
		require.False(t, ok)
		args.Seek(0)
	}
	for _, i := range []int{3, 1, 2, 0} {
		args.Seek(i)
		arg, ok := args.Next()
		require.True(t, ok)
		require.Equal(t, []string{"SET", "k", "", "v"}[i], string(arg))
	}
	args.Seek(4)
	_, ok := args.Next()
	require.False(t, ok)
	for _, bad := range []string{"", "*", "+OK\r\n", "*1\r\n", "*2\r\n$1\r\na\r\n$5\r\nb\r\n", "*999999999999999999\r\n$1\r\na\r\n"} {
		args := ArgsOf([]byte(bad))
		n := 0
		for _, ok := args.Next(); ok; _, ok = args.Next() {
			n++
		}
		require.LessOrEqual(t, n, 1, fmt.Sprintf("%q", bad))
	}
}
