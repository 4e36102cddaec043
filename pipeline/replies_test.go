package pipeline_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

func TestReplies(t *testing.T) {
	t.Parallel()
	real := servers.StartServer(t, servers.Options{})
	for _, protocol := range []int{2, 3} {
		client := open(t, cluster.Config{Dialer: lanes.Dialer{Protocol: protocol}}, real.Addrs())
		p := pipeline.New(client)
		binary := "\x00\r\n\xff$5\r\n"
		p.Cmd("DEL", "x")
		p.Cmd("SET", "", binary)
		text := p.Cmd("GET", "")
		null := p.Cmd("GET", "absent")
		p.Cmd("HSET", "h", "f", "1", "g", "2")
		hash := p.Cmd("HGETALL", "h")
		float := p.Cmd("INCRBYFLOAT", "x", "1.5")
		ttl := p.Expire("x", 1500*time.Millisecond)
		left := p.Cmd("PTTL", "x")
		least := p.Expire("x", time.Microsecond)
		array := p.Cmd("MGET", "", "absent")
		list := p.Eval(pipeline.NewScript("return {3, -4}"), []string{"x"})
		var viaRadix string
		p.Append(radix.Cmd(&viaRadix, "GET", ""))
		require.NoError(t, p.Do(within(t, 5*time.Second)))

		s, err := text.Text()
		require.NoError(t, err)
		require.Equal(t, binary, s)
		require.Equal(t, binary, viaRadix)
		require.True(t, null.IsNull())
		_, err = null.Text()
		require.ErrorIs(t, err, redislanes.ErrNull)
		require.NoError(t, null.Err())
		var m map[string]int
		require.NoError(t, hash.Into(&m))
		require.Equal(t, map[string]int{"f": 1, "g": 2}, m)
		_, err = hash.Int()
		require.Error(t, err)
		f, err := cluster.As[float64](float)
		require.NoError(t, err)
		require.Equal(t, 1.5, f)
		for _, r := range []pipeline.Reply{ttl, least} {
			requireInt(t, 1, r)
		}
		n, err := left.Int()
		require.NoError(t, err)
		require.InDelta(t, 1500, n, 500)
		numbers := []int64{9, 9, 9}
		require.NoError(t, list.Into(&numbers))
		require.Equal(t, []int64{3, -4}, numbers)
		require.ErrorIs(t, array.Into(&numbers), redislanes.ErrDecode)
		var both []*string
		require.NoError(t, array.Into(&both))
		require.Equal(t, binary, *both[0])
		require.Nil(t, both[1])
	}
}

func TestLifeOfAReply(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	p := pipeline.New(open(t, cluster.Config{}, e.Addrs()))
	ctx := within(t, 5*time.Second)
	require.NoError(t, p.Do(ctx), "an empty pipeline")
	p.Reset()
	require.ErrorIs(t, pipeline.Reply{}.Err(), cause.ErrPending)
	r := p.IncrBy("k", 1)
	require.ErrorIs(t, r.Err(), cause.ErrPending)
	require.NoError(t, p.Do(ctx))
	require.NoError(t, r.Err())
	require.ErrorIs(t, p.Do(ctx), cause.ErrExecuted)
	n, err := r.Int()
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "the second Do must not have counted")
	for _, late := range []pipeline.Reply{p.IncrBy("k", 1), p.Append(nil), p.Cmd("BLPOP", "k", "0")} {
		require.ErrorIs(t, late.Err(), redislanes.ErrNotSent)
		require.ErrorIs(t, late.Err(), cause.ErrExecuted)
	}
	require.Equal(t, 1, p.Len())
	require.NoError(t, r.Err())
	p.Reset()
	require.NoError(t, p.Do(ctx), "what came late is gone")
	p.Reset()
	require.ErrorIs(t, r.Err(), cause.ErrStale)
	require.Zero(t, p.Len())
}

// TestFailedNeighbours: a command that fails leaves the others their replies,
// and no error shows an argument.
func TestFailedNeighbours(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, cluster.Config{}, real.Addrs())
	p := pipeline.New(client)
	p.Cmd("SET", "text", "canary")
	good := p.IncrBy("good", 1)
	bad := p.IncrBy("text", 987654)
	unknown := p.Cmd("NOSUCH", "canary", "canary")
	var into int
	action := p.Append(radix.Cmd(&into, "GET", "text"))
	err := p.Do(within(t, 5*time.Second))
	var failure *redislanes.PipelineError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, 3, failure.Failed)
	require.Equal(t, 5, failure.Total)
	require.NoError(t, good.Err())
	var simple resp3.SimpleError
	require.ErrorAs(t, bad.Err(), &simple)
	require.NotErrorIs(t, bad.Err(), redislanes.ErrUnknownOutcome)
	require.Error(t, action.Err(), "text does not fit an int")
	for _, err := range []error{err, bad.Err(), unknown.Err()} {
		require.NotContains(t, err.Error(), "canary")
		require.NotContains(t, err.Error(), "987654")
	}
	var command *redislanes.Error
	require.ErrorAs(t, bad.Err(), &command)
	require.Equal(t, "INCRBY", command.Command)
	require.Contains(t, real.Addrs(), command.Addr)

	p.Reset()
	good = p.IncrBy("good", 1)
	p.Cmd("WATCH", "good") // is refused, so nothing is sent
	require.ErrorAs(t, p.Do(within(t, 5*time.Second)), &failure)
	require.Equal(t, []int{2, 2}, []int{failure.Failed, failure.Total})
	require.ErrorIs(t, good.Err(), redislanes.ErrNotSent)
}

// A reply that does not fit its receiver is an error that names the command, the
// node and the receiver's own type, on every way to it.
func TestDecodeErrorsNameCommandNodeAndType(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := within(t, 10*time.Second)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "k", "canary")))
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "RPUSH", "l", "canary", "b")))
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "MSET", "{k}large", strings.Repeat("9", 20), "{k}long", strings.Repeat("x", 200))))

	both := radix.NewPipeline()
	both.Append(radix.Cmd(new(int), "STRLEN", "k"))
	both.Append(radix.Cmd(new(int), "GET", "k"))
	appended := pipeline.New(client)
	appended.Append(radix.Cmd(new(uint8), "GET", "k"))
	reply := func(decode func(r pipeline.Reply) error, name, key string, args ...any) error {
		p := pipeline.New(client)
		r := p.Cmd(name, append([]any{key}, args...)...)
		require.NoError(t, p.Do(ctx))
		return decode(r)
	}
	toInt := func(r pipeline.Reply) error { _, err := r.Int(); return err }
	at := " on " + e.Addrs()[0] + ": "
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"Do":             {client.Do(ctx, radix.Cmd(new(int), "GET", "k")), "redislanes: GET" + at + "the reply, a string, cannot be decoded into *int: the text is no such number"},
		"radix.Pipeline": {client.Do(ctx, both), "redislanes: GET" + at + "the reply, a string, cannot be decoded into *int: the text is no such number"},
		"a dedicated connection": {client.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(new(int), "GET", "k"))
		})), "redislanes: GET" + at + "the reply, a string, cannot be decoded into *int: the text is no such number"},
		"Append": {appended.Do(ctx), "redislanes: 1 of 1 commands failed, the first: GET" + at + "the reply, a string, cannot be decoded into *uint8: the text is no such number"},
		"Into": {reply(func(r pipeline.Reply) error { return r.Into(new([]int)) }, "LRANGE", "l", "0", "-1"),
			"redislanes: LRANGE" + at + "the reply, an array, cannot be decoded into *[]int"},
		"Int":              {reply(toInt, "GET", "k"), "redislanes: GET" + at + "the reply, a string, cannot be decoded into int64: the text is no such number"},
		"out of range":     {reply(toInt, "GET", "{k}large"), "redislanes: GET" + at + "the reply, a string, cannot be decoded into int64: the number is out of range"},
		"out of its range": {reply(func(r pipeline.Reply) error { return r.Into(new(int8)) }, "STRLEN", "{k}long"), "redislanes: STRLEN" + at + "the reply, an integer, cannot be decoded into *int8: the number is out of range"},
		"no pointer":       {client.Do(ctx, radix.Cmd(0, "STRLEN", "k")), "redislanes: STRLEN" + at + "the reply, an integer, cannot be decoded into int, which is no pointer"},
		"Into no pointer":  {reply(func(r pipeline.Reply) error { return r.Into([]string{}) }, "GET", "k"), "redislanes: GET" + at + "the reply, a string, cannot be decoded into []string, which is no pointer"},
		"Text":             {reply(func(r pipeline.Reply) error { _, err := r.Text(); return err }, "LRANGE", "l", "0", "-1"), "redislanes: LRANGE" + at + "the reply, an array, cannot be decoded into []byte"},
	} {
		require.EqualError(t, c.err, c.want, name)
		var failed *redislanes.Error
		require.ErrorAs(t, c.err, &failed, name)
		require.ErrorIs(t, c.err, redislanes.ErrDecode, name)
		require.NotErrorIs(t, c.err, redislanes.ErrNotSent)
		require.NotErrorIs(t, c.err, redislanes.ErrUnknownOutcome)
	}
	require.ErrorIs(t, reply(toInt, "GET", "{k}nothing"), redislanes.ErrNull)
	require.EqualError(t, reply(toInt, "GET", "{k}nothing"), "redislanes: GET"+at+"null reply")
}
