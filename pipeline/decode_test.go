package pipeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// A reply that does not fit its receiver is an error that names the command, the
// node and the receiver's own type, on every way to it.
func TestDecodeErrorsNameCommandNodeAndType(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := within(t, 10*time.Second)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "k", "canary")))
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "RPUSH", "l", "canary", "b")))

	inPipeline := func(into any, name string) error {
		p := radix.NewPipeline()
		p.Append(radix.Cmd(nil, "SET", "{k}2", "1"))
		p.Append(radix.Cmd(new(int), "STRLEN", "k"))
		p.Append(radix.Cmd(into, name, "k"))
		return client.Do(ctx, p)
	}
	appended := func(into any) error {
		p := pipeline.New(client)
		p.Append(radix.Cmd(into, "GET", "k"))
		return p.Do(ctx)
	}
	reply := func(decode func(r pipeline.Reply) error, name, key string, args ...string) error {
		p := pipeline.New(client)
		r := p.Cmd(name, append([]string{key}, args...)...)
		require.NoError(t, p.Do(ctx))
		return decode(r)
	}
	toInt := func(r pipeline.Reply) error { _, err := r.Int(); return err }
	at := " on " + e.Addrs()[0] + ": "
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"Do":                   {client.Do(ctx, radix.Cmd(new(int), "GET", "k")), "redislanes: GET" + at + "the reply, a string, cannot be decoded into *int"},
		"FlatCmd, a channel":   {client.Do(ctx, radix.FlatCmd(new(chan int), "GET", "k")), "redislanes: GET" + at + "the reply, a string, cannot be decoded into *chan int"},
		"an array into an int": {client.Do(ctx, radix.Cmd(new(int64), "LRANGE", "l", "0", "-1")), "redislanes: LRANGE" + at + "the reply, an array, cannot be decoded into *int64"},
		"radix.Pipeline":       {inPipeline(new(int), "GET"), "redislanes: GET" + at + "the reply, a string, cannot be decoded into *int"},
		"radix.Pipeline, kept": {inPipeline(new(chan int), "GET"), "redislanes: GET" + at + "the reply, a string, cannot be decoded into *chan int"},
		"a dedicated connection": {client.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(new(int), "GET", "k"))
		})), "redislanes: GET" + at + "the reply, a string, cannot be decoded into *int"},
		"Append": {appended(new(uint8)), "redislanes: 1 of 1 commands failed, the first: GET" + at + "the reply, a string, cannot be decoded into *uint8"},
		"Into": {reply(func(r pipeline.Reply) error { return r.Into(new([]int)) }, "LRANGE", "l", "0", "-1"),
			"redislanes: LRANGE" + at + "the reply, an array, cannot be decoded into *[]int"},
		"Int":   {reply(toInt, "GET", "k"), "redislanes: GET" + at + "the reply, a string, cannot be decoded into int64"},
		"Text":  {reply(func(r pipeline.Reply) error { _, err := r.Text(); return err }, "LRANGE", "l", "0", "-1"), "redislanes: LRANGE" + at + "the reply, an array, cannot be decoded into []byte"},
		"Float": {reply(func(r pipeline.Reply) error { _, err := r.Float(); return err }, "GET", "k"), "redislanes: GET" + at + "the reply, a string, cannot be decoded into float64"},
	} {
		require.EqualError(t, c.err, c.want, name)
		var failed *redislanes.Error
		require.ErrorAs(t, c.err, &failed, name)
		require.ErrorAs(t, c.err, new(*redislanes.DecodeError), name)
		require.NotErrorIs(t, c.err, redislanes.ErrNotSent)
		require.NotErrorIs(t, c.err, redislanes.ErrUnknownOutcome)
	}
	require.ErrorIs(t, reply(toInt, "GET", "{k}nothing"), redislanes.ErrNull)
	require.EqualError(t, reply(toInt, "GET", "{k}nothing"), "redislanes: GET"+at+"null reply")
}
