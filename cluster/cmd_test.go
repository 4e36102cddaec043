package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestCmd: one command with arguments of any type, and its reply.
func TestCmd(t *testing.T) {
	servers := redistest.StartEmulated(t, 2)
	ctx := t.Context()
	client, err := cluster.Config{}.New(ctx, servers.Addrs())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	must := func(name string, args ...any) cluster.Reply {
		t.Helper()
		reply := client.Cmd(ctx, name, args...)
		require.NoError(t, reply.Err())
		return reply
	}

	for _, c := range []struct {
		name    string
		args    []any
		want    any
		printed string
	}{
		{"SET", []any{"n", 41}, "OK", `"OK"`},
		{"INCRBY", []any{[]byte("n"), int64(1)}, int64(42), "42"},
		{"get", []any{"n"}, "42", `"42"`},
		{"GET", []any{"none"}, nil, "(nil)"},
		{"SET", []any{"empty", ""}, "OK", `"OK"`},
		{"GET", []any{"empty"}, "", `""`},
		{"RPUSH", []any{"l", "a", "b", 1.5}, int64(3), "3"},
		{"LRANGE", []any{"l", 0, -1}, []any{"a", "b", "1.5"}, `["a" "b" "1.5"]`},
		{"HSET", []any{"h", "f", 1}, int64(1), "1"},
		{"BLPOP", []any{"l", 1}, []any{"l", "a"}, `["l" "a"]`},
		{"PING", nil, "PONG", `"PONG"`},
		{"MGET", []any{"none"}, nil, "[(nil)]"},
	} {
		reply := must(c.name, c.args...)
		require.Equal(t, c.printed, fmt.Sprint(reply), "%s", c.name)
		require.Equal(t, c.printed == "(nil)", reply.IsNull(), "%s", c.name)
		switch want := c.want.(type) {
		case int64:
			n, err := reply.Int()
			require.NoError(t, err)
			require.Equal(t, want, n)
		case string:
			s, err := cluster.As[string](reply)
			require.NoError(t, err)
			require.Equal(t, want, s)
		}
		require.Contains(t, servers.Addrs(), reply.Node())
	}
	must("SET", "long", strings.Repeat("x", 5000))
	require.Regexp(t, `^"\$5000\\r\\nx{1000,}"\.\.\. \(a reply of 5009 bytes\)$`, fmt.Sprintf("%+v", must("GET", "long")))
}

// TestAsTypes: which types a reply is decoded into, and what becomes of an error inside of it.
func TestAsTypes(t *testing.T) {
	type level int8
	type tagged struct {
		A        string `redis:"a,omitempty"`
		Untagged string
	}
	servers := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, servers.Addrs())
	ctx := t.Context()
	require.NoError(t, client.Cmd(ctx, "SET", "n", 7).Err())
	get := client.Cmd(ctx, "GET", "n")
	_, err := cluster.As[level](get)
	require.ErrorIs(t, err, redislanes.ErrDecode)
	_, err = cluster.As[level](client.Cmd(ctx, "STRLEN", "n")) // an integer
	require.ErrorIs(t, err, redislanes.ErrDecode)
	_, err = cluster.As[time.Duration](get)
	require.ErrorIs(t, err, redislanes.ErrDecode)
	addr, err := cluster.As[netip.Addr](client.Cmd(ctx, "EVAL", "return '10.0.0.1'", 0)) // by UnmarshalText
	require.NoError(t, err)
	require.Equal(t, "10.0.0.1", addr.String())
	names, err := cluster.As[tagged](client.Cmd(ctx, "EVAL", "return {'a,omitempty', '1', 'Untagged', '2', 'a', '3'}", 0))
	require.NoError(t, err)
	require.Equal(t, tagged{"1", "2"}, names, "the whole tag is the name")

	script := func() cluster.Reply { return client.Cmd(ctx, "EVAL", "return {1, redis.error_reply('MY err'), 3}", 0) }
	texts, err := cluster.As[[]string](script()) // an error inside of an array is a value
	require.NoError(t, err)
	require.Equal(t, []string{"1", "MY err", "3"}, texts)
	raw, err := cluster.As[[]resp3.RawMessage](script())
	require.NoError(t, err)
	require.Equal(t, "-MY err\r\n", string(raw[1]))
	require.ErrorIs(t, script().Into(radix.Tuple{nil, nil, nil}), resp3.SimpleError{S: "MY err"})
}

// TestAs: a key that does not exist is no empty value, whatever the type.
func TestAs(t *testing.T) {
	servers := redistest.StartEmulated(t, 1)
	ctx := t.Context()
	client, err := cluster.Config{}.New(ctx, servers.Addrs())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	require.NoError(t, client.Cmd(ctx, "SET", "n", 7).Err())
	require.NoError(t, client.Cmd(ctx, "HSET", "h", "a", 1, "b", 2).Err())
	get := func(key string) cluster.Reply { return client.Cmd(ctx, "GET", key) }

	n, err := cluster.As[int](get("n"))
	require.NoError(t, err)
	require.Equal(t, 7, n)
	p, err := cluster.As[*string](get("n"))
	require.NoError(t, err)
	require.Equal(t, "7", *p)
	p, err = cluster.As[*string](get("none"))
	require.NoError(t, err)
	require.Nil(t, p)
	_, err = cluster.As[string](get("none"))
	require.ErrorIs(t, err, redislanes.ErrNull)
	require.Regexp(t, `^redislanes: GET on 127\.0\.0\.1:\d+: null reply$`, err.Error())
	_, err = cluster.As[[]byte](get("none"))
	require.ErrorIs(t, err, redislanes.ErrNull)
	m, err := cluster.As[map[string]int](client.Cmd(ctx, "HGETALL", "h"))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 1, "b": 2}, m)
	for key, want := range map[string]int{"h": 1, "none": 0} { // an empty map is no null
		ptr, err := cluster.As[*fields](client.Cmd(ctx, "HGETALL", key))
		require.NoError(t, err)
		require.Equal(t, fields{want}, *ptr)
	}
	list, err := cluster.As[**[]string](client.Cmd(ctx, "HKEYS", "h"))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a", "b"}, **list)
	_, err = cluster.As[int](client.Cmd(ctx, "HGETALL", "h"))
	require.ErrorContains(t, err, "redislanes: HGETALL on "+servers.Addrs()[0])

	// in place of panics of radix
	require.ErrorIs(t, client.Cmd(ctx, "HGETALL", "h").Into((*int)(nil)), redislanes.ErrDecode)
	require.ErrorIs(t, get("n").Into((*string)(nil)), redislanes.ErrDecode)
	_, err = cluster.As[[]*fields](client.Cmd(ctx, "EVAL", "return {{'a', '1'}}", 0))
	require.ErrorIs(t, err, redislanes.ErrDecode)
	err = client.Do(ctx, radix.Cmd(new(*fields), "HGETALL", "h"))
	require.ErrorIs(t, err, redislanes.ErrDecode)
	require.ErrorContains(t, err, "the reply, an array, cannot be decoded into **cluster_test.fields")

	for _, big := range []any{300, -1, uint64(math.MaxUint64), "99999999999999999999"} {
		require.NoError(t, client.Cmd(ctx, "SET", "big", big).Err())
		_, err := cluster.As[uint8](get("big"))
		require.ErrorIs(t, err, redislanes.ErrDecode, "%v", big)
	}
	_, err = cluster.As[*int64](get("big"))
	require.ErrorIs(t, err, redislanes.ErrDecode, "more than 64 bits")

	pipe := pipeline.New(client)
	total := pipe.IncrBy("n", 1)
	_, err = cluster.As[int](total)
	require.ErrorIs(t, err, cause.ErrPending)
	require.Equal(t, cause.ErrPending.Error(), total.String())
	require.NoError(t, pipe.Do(ctx))
	n, err = cluster.As[int](total)
	require.NoError(t, err)
	require.Equal(t, 8, n)
}

// TestCmdFails: what cannot be sent, or fails, is the error of the reply.
func TestCmdFails(t *testing.T) {
	servers := redistest.StartEmulated(t, 2)
	ctx := t.Context()
	client, err := cluster.Config{}.New(ctx, servers.Addrs())
	require.NoError(t, err)
	require.NoError(t, client.Cmd(ctx, "SET", "text", "secret").Err())

	for _, c := range []struct {
		name string
		args []any
		is   error
		text string
	}{
		{"INCRBY", []any{"text", 1}, nil, "redislanes: INCRBY on 127.0.0.1:"},
		{"BLPOP", []any{"text", 1}, nil, "redislanes: BLPOP on 127.0.0.1:"},
		{"MULTI", nil, redislanes.ErrShared, "MULTI"},
		{"MGET", []any{"a", "b"}, redislanes.ErrCrossSlot, "MGET"},
		{"SET", []any{"k", make(chan int)}, redislanes.ErrNotSent, "SET: not sent: argument 2 is a chan int, which cannot be sent"},
		{"EXPIRE", []any{"k", time.Minute}, redislanes.ErrNotSent, "EXPIRE: not sent: argument 2 is a time.Duration: pass a number"},
		{"SET", []any{"k", panics{}}, redislanes.ErrNotSent, "SET: not sent: argument 2 is a cluster_test.panics, and its marshaler has failed"},
		{"SET k secret", nil, redislanes.ErrNotSent, "redislanes: …: not sent: the command's name has a blank in it, pass the arguments separately"},
		{"CONFIG GET", []any{"maxmemory"}, redislanes.ErrNotSent, "pass the arguments separately"},
		{"", nil, redislanes.ErrNotSent, "a command without a name"},
	} {
		reply := client.Cmd(ctx, c.name, c.args...)
		require.ErrorContains(t, reply.Err(), c.text)
		require.NotContains(t, reply.Err().Error(), "secret")
		require.Equal(t, reply.Err().Error(), reply.String())
		if c.is != nil {
			require.ErrorIs(t, reply.Err(), c.is, c.text)
		}
		_, err := cluster.As[string](reply)
		require.Equal(t, reply.Err(), err)
		_, err = reply.Int()
		require.Equal(t, reply.Err(), err)
		if c.name == "BLPOP" {
			continue
		}
		pipe := pipeline.New(client)
		same := pipe.Cmd(c.name, c.args...)
		require.Error(t, pipe.Do(ctx))
		require.ErrorContains(t, same.Err(), c.text)
	}
	require.NoError(t, client.Close())
	require.ErrorIs(t, client.Cmd(ctx, "GET", "k").Err(), redislanes.ErrClosed)
	require.ErrorIs(t, client.Cmd(ctx, "BLPOP", "k", 1).Err(), redislanes.ErrClosed)
	require.ErrorIs(t, (*cluster.Client)(nil).Cmd(ctx, "GET", "k").Err(), redislanes.ErrNotSent)
	require.ErrorIs(t, cluster.Reply{}.Err(), cause.ErrPending)
}

// TestActionsThatCannotBeEncoded: nothing is sent of an action with an argument that has no form in
// Redis, or whose own methods fail. The error does not print their text, which may show the value.
func TestActionsThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	servers := redistest.StartEmulated(t, 1)
	ctx := t.Context()
	client, err := cluster.New(ctx, servers.Addrs())
	require.NoError(t, err)
	defer client.Close()
	for name, argument := range map[string]any{"a channel": make(chan int), "a marshaler that fails": fails{}} {
		set := radix.FlatCmd(nil, "SET", "k", argument)
		pipe := radixPipeline(radix.Cmd(nil, "INCR", "n"), set)
		for way, do := range map[string]func() error{
			"alone":         func() error { return client.Do(ctx, set) },
			"in a pipeline": func() error { return client.Do(ctx, pipe) },
			"on a node":     func() error { return primaryAt(t, client, servers.Addrs()[0]).Do(ctx, set) },
			"on a dedicated connection": func() error {
				return client.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, set) }))
			},
		} {
			err := do()
			require.ErrorIs(t, err, redislanes.ErrNotSent, "%s, %s", name, way)
			require.ErrorContains(t, err, "cannot be encoded", "%s, %s", name, way)
			require.NotContains(t, err.Error(), "secret", "%s, %s", name, way)
			if argument == (fails{}) {
				require.ErrorIs(t, err, errMarshal, "%s, %s", name, way)
			}
		}
	}
	require.True(t, client.Cmd(ctx, "GET", "n").IsNull())
}

var errMarshal = errors.New("it is secret")

type fails struct{}

func (fails) MarshalText() ([]byte, error) { return nil, errMarshal }

type fields struct {
	A int `redis:"a"`
}

type panics struct{}

func (panics) MarshalText() ([]byte, error) { panic("in the program") }
