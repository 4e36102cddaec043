package resp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// naiveCommand is the protocol's definition of a command.
func naiveCommand(args []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b.String()
}

func randomArgument(r *rand.Rand) string {
	const alphabet = "a\r\n\x00$*-1\xff"
	b := make([]byte, r.IntN(12))
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func TestAppendCommandMatchesModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		args := make([]string, 1+r.IntN(5))
		for i := range args {
			args[i] = randomArgument(r)
		}
		const before = "before"
		got := AppendCommand([]byte(before), args[0], args[1:]...)
		require.Equal(t, before+naiveCommand(args), string(got))

		cmd := got[len(before):]
		require.Len(t, cmd, CommandLen(cmd))
		require.Equal(t, args[0], CommandName(cmd))
		for i, want := range args {
			arg, ok := Argument(cmd, i)
			require.True(t, ok)
			require.Equal(t, want, string(arg))
		}
		_, ok := Argument(cmd, len(args))
		require.False(t, ok, "argument %d", len(args))
	}
}

func TestAppendBulkInt(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 9, 10, 123456789, math.MaxInt64, math.MinInt64} {
		want := naiveCommand([]string{fmt.Sprint(n)})[len("*1\r\n"):]
		assert.Equal(t, want, string(AppendBulkInt(nil, n)))
	}
}

func TestAppendBulkOfBytesAndNamedStrings(t *testing.T) {
	type key string
	assert.Equal(t, "$2\r\nab\r\n", string(AppendBulk(nil, []byte("ab"))))
	assert.Equal(t, "$2\r\nab\r\n", string(AppendBulk(nil, key("ab"))))
	assert.Equal(t, "$0\r\n\r\n", string(AppendBulk(nil, "")))
}

// Whatever is not one whole command makes a server hang up, or wait for more,
// or not answer, which would shift the replies of everybody on the connection.
func TestIsCommandRefusesWhatRedisDoesNotAnswer(t *testing.T) {
	assert.True(t, isCommand([]byte("*1\r\n$4\r\nPING\r\n")))
	for _, cmd := range []string{
		"", "*", "*1", "*0\r\n", "*-1\r\n", "PING\r\n", "+PING\r\n", "*1\r\n",
		"*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*1\r\n*1\r\n$1\r\na\r\n", "*1\r\n$4\r\nPIN\r\n",
		"*1\r\n$4\r\nPINGxx", "*1\r\n$4\r\nPING\r\nx", "*2\r\n$4\r\nPING\r\n", "*1\r\n$+4\r\nPING\r\n",
		"*1000000000000000000\r\n$1\r\na\r\n", "*1\r\n$999999999999999999\r\na\r\n",
	} {
		assert.False(t, isCommand([]byte(cmd)), "%q", cmd)
	}
}

func TestArgumentOfGarbage(t *testing.T) {
	for _, cmd := range []string{"", "*", "*1\r\n", "*1\r\n$", "*1\r\n$1", "*1\r\n$1\r\n", "*2\r\n$9\r\na\r\n", "*2\r\n$1\r\na\r\n+b\r\n", "*1\r\n$-1\r\n"} {
		for i := range 3 {
			if arg, ok := Argument([]byte(cmd), i); ok {
				assert.Equal(t, "a", string(arg), "%q", cmd)
			}
		}
	}
	assert.Empty(t, CommandName([]byte("GET k\r\n")))
}

// isCommand reports whether cmd is one encoded command, and nothing else.
func isCommand(cmd []byte) bool {
	n := CommandLen(cmd)
	return n > 0 && n == len(cmd)
}
