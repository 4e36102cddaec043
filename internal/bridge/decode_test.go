package bridge

import (
	"context"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/cause"
)

// TestAggregateIntoPointer: an array, a map or a set for a pointer that is nil made radix panic,
// and with it the program: LPOP with a count into a *[]string, which is nil for a null.
func TestAggregateIntoPointer(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"*1\r\n+a\r\n", "*0\r\n", "%1\r\n+a\r\n+b\r\n", "~1\r\n+a\r\n", "*1\r\n-ERR inside\r\n"} {
		var list *[]string
		var failed *cause.DecodeError
		require.ErrorAs(t, Unmarshal([]byte(reply), &list), &failed, reply)
		require.Equal(t, "**[]string", failed.Into)
		require.Equal(t, reply[0], failed.Kind)
		require.Nil(t, list)
	}
}

// TestAggregateInsidePointers: the same inside a reply, and in a radix.Pipeline behind a reply
// that fits.
func TestAggregateInsidePointers(t *testing.T) {
	t.Parallel()
	const nested = "*2\r\n+0\r\n*1\r\n+key\r\n" // of SCAN
	var failed *cause.DecodeError
	require.ErrorAs(t, Unmarshal([]byte(nested), new([]*string)), &failed)

	var n int
	var list *[]string
	p := radix.NewPipeline()
	p.Append(radix.Cmd(&n, "INCR", "k"))
	p.Append(radix.Cmd(&list, "SCAN", "0"))
	require.ErrorAs(t, Perform(t.Context(), p, replying{replies: ":7\r\n" + nested}), &failed)
	require.Equal(t, 7, n)

	require.NoError(t, Unmarshal([]byte(":8\r\n"), &n), "the next reply")
	require.Equal(t, 8, n)
}

// replying is a connection that has the replies to whatever is sent.
type replying struct {
	radix.Conn
	replies string
}

func (c replying) EncodeDecode(_ context.Context, _, into any) error {
	return Unmarshal([]byte(c.replies), into)
}

// TestLongLine: radix's bufio.Reader refused lines of more than 4,096 bytes. The text of an error
// was lost, also that of a server's.
func TestLongLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("1", 60_000)
	var s string
	require.NoError(t, Unmarshal([]byte("+"+long+"\r\n"), &s))
	require.Equal(t, long, s)
	var list []string
	require.NoError(t, Unmarshal([]byte("*2\r\n+"+long+"\r\n+b\r\n"), &list))
	require.Equal(t, []string{long, "b"}, list)
	n := new(big.Int)
	require.NoError(t, Unmarshal([]byte("("+long+"\r\n"), n))
	require.Equal(t, long, n.String())
	var said resp3.SimpleError
	require.ErrorAs(t, Unmarshal([]byte("-ERR "+long+"\r\n"), &s), &said)
	require.Equal(t, "ERR "+long, said.S)
}

// TestBooleanIsKept: a reply is decoded as often as the program likes, and by many goroutines.
// radix changes a boolean where it lies.
func TestBooleanIsKept(t *testing.T) {
	t.Parallel()
	const boolean, list = "#t\r\n", "*3\r\n#t\r\n#f\r\n+t\r\n"
	reply, replies := []byte(boolean), []byte(list)
	for range 2 {
		var yes bool
		require.NoError(t, Unmarshal(reply, &yes))
		require.True(t, yes)
		var all []any
		require.NoError(t, Unmarshal(replies, &all))
		require.Equal(t, []any{true, false, "t"}, all)
	}
	require.Equal(t, boolean, string(reply))
	require.Equal(t, list, string(replies))
}

type status string

// TestReceiversThatPanic: radix panics at a pointer that is nil, and at a struct with an embedded
// type that is no struct. The program's own receiver may panic, too. The commands have run by then.
func TestReceiversThatPanic(t *testing.T) {
	t.Parallel()
	var none *int
	for reply, into := range map[string]any{
		":1\r\n":                       none,
		"%1\r\n+Name\r\n+x\r\n":        new(struct{ status }),
		"%1\r\n$1\r\na\r\n$1\r\nb\r\n": new(struct{ json.RawMessage }),
	} {
		var failed *cause.DecodeError
		require.ErrorAs(t, Unmarshal([]byte(reply), into), &failed, "%T", into)
		require.ErrorAs(t, Perform(t.Context(), radix.Cmd(into, "HGETALL", "k"), replying{replies: reply}), &failed, "%T", into)
	}
}

func TestUnmarshalIntoNothingKeepsErrors(t *testing.T) {
	require.NoError(t, Unmarshal([]byte(":1\r\n*1\r\n-ERR inside\r\n$-1\r\n"), nil))
	err := Unmarshal([]byte(":1\r\n-ERR no\r\n-ERR second\r\n"), nil)
	require.EqualError(t, err, "ERR …")
}

// TestDeepReplies: as deep as replies may be nested, decoded in all ways that recurse.
func TestDeepReplies(t *testing.T) {
	reply := []byte(strings.Repeat("*1\r\n", 1024) + ":1\r\n")
	for _, into := range []any{new(any), new(resp3.RawMessage), &radix.Maybe{Rcv: new(any)}, nil} {
		require.NoError(t, Unmarshal(reply, into))
	}
}
