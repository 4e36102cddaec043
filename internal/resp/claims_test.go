package resp

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// claims are numbers that no header can be right about, among them those that an int
// of 32 bits takes for a negative or a small one.
var claims = []string{
	"100", "2147483647", "2147483648", "3000000000", "4294967293", "4294967295", "4294967296", "4294967297", "4294967300",
	"9223372034707292161", "99999999999999999", "999999999999999999", "1000000000000000000",
}

// TestClaimsBeyondTheEnd: a header that claims more than there is begins no command
// and no string, on any platform.
func TestClaimsBeyondTheEnd(t *testing.T) {
	t.Parallel()
	for _, n := range claims {
		many := fmt.Appendf(nil, "*%s\r\n$1\r\na\r\n$1\r\nb\r\n", n)
		assert.Zero(t, Elements(many), n)
		assert.Empty(t, CommandName(many), n)
		args := ArgsOf(many)
		assert.Zero(t, args.Len(), n)
		assert.Empty(t, all(args), n)

		long := fmt.Appendf(nil, "*2\r\n$1\r\na\r\n$%s\r\nb\r\n", n)
		assert.Equal(t, "a", CommandName(long), n)
		assert.Equal(t, []string{"a"}, all(ArgsOf(long)), n)
		for _, cmd := range [][]byte{many, long} {
			assert.False(t, isCommand(cmd), "%q", cmd)
			assert.Zero(t, CommandLen(cmd), "%q", cmd)
			_, ok := Argument(cmd, 1)
			assert.False(t, ok, "%q", cmd)
		}

		for _, kind := range "$=!*" {
			reply := fmt.Appendf(nil, "%c%s\r\nERR b\r\n", kind, n)
			if kind == '!' {
				assert.Empty(t, ErrorText(reply), "%q", reply)
			}
			text, err := Bytes(reply)
			assert.Error(t, err, "%q", reply)
			assert.Empty(t, text, "%q", reply)
			_, err = Int(reply)
			assert.Error(t, err, "%q", reply)
			first, _ := Cut(reply)
			assert.Nil(t, first, "%q", reply)
		}
	}
}

// all returns the elements that are left.
func all(args Args) []string {
	list := []string{}
	for arg, ok := args.Next(); ok; arg, ok = args.Next() {
		list = append(list, string(arg))
	}
	return list
}
