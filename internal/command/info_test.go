package command

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	infoOld   = "*1\r\n*7\r\n$5\r\nmod.a\r\n:-3\r\n*2\r\n+write\r\n+blocking\r\n:1\r\n:-2\r\n:1\r\n*0\r\n"
	infoCount = "*1\r\n*10\r\n$5\r\nmod.b\r\n:-3\r\n*2\r\n+readonly\r\n+movablekeys\r\n:0\r\n:0\r\n:0\r\n*0\r\n*0\r\n" +
		"*1\r\n*6\r\n$5\r\nflags\r\n*0\r\n$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n*2\r\n$5\r\nindex\r\n:2\r\n" +
		"$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\r\n$6\r\nkeynum\r\n$4\r\nspec\r\n*6\r\n$9\r\nkeynumidx\r\n:0\r\n$8\r\nfirstkey\r\n:1\r\n$7\r\nkeystep\r\n:1\r\n*0\r\n"
	infoMovable = "*1\r\n*6\r\n$5\r\nmod.c\r\n:-3\r\n*1\r\n+movablekeys\r\n:0\r\n:0\r\n:0\r\n"
	infoNoKeys  = "*1\r\n*6\r\n$5\r\nmod.d\r\n:-3\r\n*2\r\n+pubsub\r\n+noscript\r\n:0\r\n:0\r\n:0\r\n"
)

func TestParseInfo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reply  string
		keys   []string // of X a 2 c d e
		traits Traits
	}{
		{infoOld, []string{"a", "2", "c", "d"}, Told | Blocking},
		{infoCount, []string{"c", "d"}, Told | ReadOnly},
		{infoMovable, []string{"a"}, Told},
		{infoNoKeys, []string{}, Told | Stateful},
	} {
		rule, err := ParseInfo([]byte(test.reply), "x")
		require.NoError(t, err, test.reply)
		c := Of(encode("X a 2 c d e")).With(rule)
		assert.True(t, c.Known())
		assert.Equal(t, "X", c.Name())
		assert.Equal(t, test.traits, c.Traits())
		assert.Equal(t, test.keys, keysBy(c), test.reply)
	}
	for _, unknown := range []string{"*1\r\n*-1\r\n", "*1\r\n$-1\r\n", "*1\r\n_\r\n"} {
		rule, err := ParseInfo([]byte(unknown), "x")
		require.NoError(t, err)
		require.Nil(t, rule)
	}
	for _, bad := range []string{"", "+OK\r\n", "*0\r\n", "*2\r\n*-1\r\n*-1\r\n", "*1\r\n*1\r\n+x\r\n", "*1\r\n:7\r\n",
		"*1\r\n*6\r\n+x\r\n:1\r\n*0\r\n:9999999999\r\n:1\r\n:1\r\n"} {
		_, err := ParseInfo([]byte(bad), "x")
		require.ErrorIs(t, err, ErrInfo, bad)
	}
}

// TestCountsBeyondTheArguments: more keys than arguments are none, however far apart the
// server says that they are. With 32 bits, 4,096 steps of 2²⁰ are no step.
func TestCountsBeyondTheArguments(t *testing.T) {
	t.Parallel()
	far := strings.Replace(infoCount, "keystep\r\n:1\r\n", "keystep\r\n:1048576\r\n", 1)
	for _, test := range []struct {
		reply, count string
		keys         []string
	}{
		{infoCount, "4200", slices.Repeat([]string{"c"}, 4200)}, {infoCount, "4201", []string{}},
		{infoCount, "2147483648", []string{}}, {infoCount, "4294967297", []string{}}, {infoCount, "18446744073709551617", []string{}},
		{far, "1", []string{"c"}}, {far, "2", []string{}}, {far, "2049", []string{}}, {far, "4096", []string{}}, {far, "4097", []string{}},
	} {
		rule, err := ParseInfo([]byte(test.reply), "x")
		require.NoError(t, err)
		c := Of(encode("X a " + test.count + strings.Repeat(" c", 4200))).With(rule)
		assert.Equal(t, test.keys, keysBy(c), test.count)
	}
}

func keysBy(c Command) []string {
	list := []string{}
	for keys := c.Keys(); ; {
		key, ok := keys.Next()
		if !ok {
			return list
		}
		list = append(list, string(key))
	}
}

// FuzzParseInfo: no answer makes it panic, run for ever or name keys that are no
// arguments.
func FuzzParseInfo(f *testing.F) {
	for _, reply := range []string{infoOld, infoCount, infoMovable, infoNoKeys, "*1\r\n*-1\r\n"} {
		f.Add([]byte(reply), []byte("*4\r\n$1\r\nX\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n"))
	}
	f.Fuzz(func(t *testing.T, reply, encoded []byte) {
		rule, err := ParseInfo(reply, "x")
		if err != nil {
			if !errors.Is(err, ErrInfo) {
				t.Fatal(err)
			}
			return
		}
		c := Of(encoded).With(rule)
		_, _ = c.Traits(), c.Effect()
		n := 0
		for keys := c.Keys(); n < 1000; n++ {
			if _, ok := keys.Next(); !ok {
				return
			}
		}
		if len(encoded) < 1000 && (rule == nil || len(rule.specs) < 10) {
			t.Fatalf("%d keys or more of %q by %q", n, encoded, reply)
		}
	})
}
