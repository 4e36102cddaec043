package resp

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInt(t *testing.T) {
	for reply, want := range map[string]int64{
		":0\r\n": 0, ":5\r\n": 5, ":-5\r\n": -5, ":+5\r\n": 5, ":007\r\n": 7,
		":999999999999999999\r\n": 999999999999999999, ":-999999999999999999\r\n": -999999999999999999,
		":9223372036854775807\r\n": math.MaxInt64, ":-9223372036854775808\r\n": math.MinInt64,
		"$1\r\n7\r\n": 7, "$20\r\n-9223372036854775808\r\n": math.MinInt64, "+12\r\n": 12, "=6\r\ntxt:42\r\n": 42,
		"(19\r\n": 19, ",3\r\n": 3, ":8\r\n": 8,
		"$000000000000000002\r\n42\r\n": 42,
	} {
		got, err := Int([]byte(reply))
		require.NoError(t, err, "%q", reply)
		assert.Equal(t, want, got, "%q", reply)
	}
}

func TestIntOfOtherReplies(t *testing.T) {
	for _, reply := range []string{"$-1\r\n", "*-1\r\n", "_\r\n", "_\r\n"} {
		_, err := Int([]byte(reply))
		assert.ErrorIs(t, err, ErrNull, "%q", reply)
	}
	for _, reply := range []string{":9223372036854775808\r\n", ":-9223372036854775809\r\n", "+9223372036854775808\r\n"} {
		_, err := Int([]byte(reply))
		assert.ErrorIs(t, err, strconv.ErrRange, "%q", reply)
	}
	for reply, kind := range map[string]byte{
		":\r\n": ':', ":-\r\n": ':', ":1x\r\n": ':',
		"$0\r\n\r\n": '$', "+OK\r\n": '+', "#t\r\n": '#', ",1.5\r\n": ',', "*1\r\n:1\r\n": '*', "-ERR 5\r\n": '-',
		"%0\r\n": '%', "*0\r\n": '*', "": 0,
	} {
		_, err := Int([]byte(reply))
		assert.EqualError(t, err, fmt.Sprintf("reply of type %q is not an integer", kind), "%q", reply)
	}
}

func TestBytes(t *testing.T) {
	for reply, want := range map[string]string{
		"$5\r\nhello\r\n": "hello", "$0\r\n\r\n": "", "$4\r\n\r\n\x00a\r\n": "\r\n\x00a", "+OK\r\n": "OK", "+\r\n": "",
		":12\r\n": "12", ",1.5\r\n": "1.5", "(123\r\n": "123", "#f\r\n": "f", "=5\r\ntxt:x\r\n": "x", "=3\r\nabc\r\n": "abc",
		"$1\r\nz\r\n": "z",
	} {
		got, err := Bytes([]byte(reply))
		require.NoError(t, err, "%q", reply)
		assert.Equal(t, want, string(got), "%q", reply)
		assert.NotNil(t, got, "%q", reply)
	}
	for _, reply := range []string{"$-1\r\n", "*-1\r\n", "_\r\n"} {
		_, err := Bytes([]byte(reply))
		assert.ErrorIs(t, err, ErrNull, "%q", reply)
	}
	for _, reply := range []string{"*1\r\n+a\r\n", "%0\r\n", "~0\r\n", "-ERR\r\n", "!3\r\nERR\r\n", ""} {
		_, err := Bytes([]byte(reply))
		assert.ErrorContains(t, err, "is not a string", "%q", reply)
	}
}

func TestErrorsAndNulls(t *testing.T) {
	for reply, want := range map[string]string{
		"-ERR no\r\n": "ERR no", "-\r\n": "", "!8\r\nERR\r\nbad\r\n": "ERR\r\nbad", "-MOVED 1 a:1\r\n": "MOVED 1 a:1",
	} {
		assert.True(t, IsError([]byte(reply)), "%q", reply)
		assert.False(t, IsNull([]byte(reply)), "%q", reply)
		assert.Equal(t, want, string(ErrorText([]byte(reply))), "%q", reply)
	}
	for _, reply := range []string{"_\r\n", "$-1\r\n", "*-1\r\n", "_\r\n"} {
		assert.True(t, IsNull([]byte(reply)), "%q", reply)
		assert.False(t, IsError([]byte(reply)), "%q", reply)
	}
	for _, reply := range []string{"", "+OK\r\n", ":-1\r\n", "$0\r\n\r\n", "*1\r\n-ERR\r\n", "*0\r\n", ":1\r\n"} {
		assert.False(t, IsError([]byte(reply)), "%q", reply)
		assert.False(t, IsNull([]byte(reply)), "%q", reply)
	}
	assert.Nil(t, ErrorText(nil))
}

func TestCut(t *testing.T) {
	all := []byte(":1\r\n" + "+a\r\n*1\r\n:2\r\n")
	var got []string
	for first, rest := Cut(all); first != nil; first, rest = Cut(rest) {
		got = append(got, string(first))
	}
	assert.Equal(t, []string{":1\r\n", "+a\r\n", "*1\r\n:2\r\n"}, got)
	for _, p := range []string{"", ":1", "x"} {
		first, rest := Cut([]byte(p))
		assert.Nil(t, first)
		assert.Nil(t, rest)
	}
}

// TestAppendInts: an array of integers is appended whole, and of any other reply nothing.
func TestAppendInts(t *testing.T) {
	for reply, want := range map[string][]int64{
		"*1\r\n:7\r\n": {7}, "*3\r\n:-1\r\n:0\r\n:999999999999999999\r\n": {-1, 0, 999999999999999999},
	} {
		got, ok := AppendInts([]int64{5}, []byte(reply))
		require.True(t, ok, "%q", reply)
		require.Equal(t, append([]int64{5}, want...), got)
	}
	for _, reply := range []string{
		"", "*", "*0\r\n", "*-1\r\n", "*1\r\n", "*1\r\n:1", "*1\r\n:1\r", "*1\r\n:\r\n", "*1\r\n:-\r\n", "*2\r\n:1\r\n", "*1\r\n:1\r\n:2\r\n",
		"*1\r\n+1\r\n", "*2\r\n:1\r\n$1\r\n1\r\n", "~1\r\n:1\r\n", "*1\r\n:1x\r\n", "*1\r\n:1000000000000000000\r\n", ":1\r\n", "*999999999\r\n:1\r\n",
	} {
		got, ok := AppendInts([]int64{5}, []byte(reply))
		require.False(t, ok, "%q", reply)
		require.Equal(t, []int64{5}, got)
	}
}

func TestArrayAndMap(t *testing.T) {
	for reply, want := range map[string][]string{
		"*0\r\n":                   {},
		"*2\r\n:1\r\n*1\r\n+a\r\n": {":1\r\n", "*1\r\n+a\r\n"},
		"~1\r\n$1\r\na\r\n":        {"$1\r\na\r\n"},
		"%1\r\n+a\r\n_\r\n":        {"+a\r\n", "_\r\n"},
		"*1\r\n" + strings.Repeat("*1\r\n", 99) + ":1\r\n": {strings.Repeat("*1\r\n", 99) + ":1\r\n"},
	} {
		got, ok := Array([]byte(reply))
		require.True(t, ok, "%q", reply)
		require.Len(t, got, len(want), "%q", reply)
		for i := range want {
			require.Equal(t, want[i], string(got[i]))
		}
	}
	for _, reply := range []string{"", "*", "*1\r\n", "*-1\r\n", "_\r\n", ":1\r\n", "+a\r\n", "*0\r\n:1\r\n", "*1\r\n?\r\n", "%1\r\n+a\r\n", "*999999999\r\n:1\r\n"} {
		got, ok := Array([]byte(reply))
		require.False(t, ok, "%q", reply)
		require.Nil(t, got, "%q", reply)
	}
	for _, reply := range []string{"%2\r\n+a\r\n:1\r\n$1\r\nb\r\n*0\r\n", "*4\r\n+a\r\n:1\r\n$1\r\nb\r\n*0\r\n"} {
		got, ok := Map([]byte(reply))
		require.True(t, ok)
		require.Equal(t, map[string][]byte{"a": []byte(":1\r\n"), "b": []byte("*0\r\n")}, got)
	}
	for _, reply := range []string{":1\r\n", "*1\r\n+a\r\n", "*2\r\n*0\r\n:1\r\n"} {
		_, ok := Map([]byte(reply))
		require.False(t, ok, "%q", reply)
	}
}
