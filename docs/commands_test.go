package docs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

type product struct {
	Name  string `redis:"name"`
	Price int    `redis:"price"`
}

func oneCommand(ctx context.Context, client *cluster.Client) (int64, string, product, error) {
	hits, err := client.Cmd(ctx, "INCRBY", "hits", 5).Int()
	name, err2 := cluster.As[string](client.Cmd(ctx, "GET", "name"))      // redislanes.ErrNull if there is no such key
	shoe, err3 := cluster.As[product](client.Cmd(ctx, "HGETALL", "shoe")) // fields by their names, or by a tag such as `redis:"price"`

	return hits, name, shoe, errors.Join(err, err2, err3)
}

func countAll(ctx context.Context, client *cluster.Client, user, path string) (int64, int64, error) {
	p := pipeline.New(client)
	u := p.Count("user:"+user, 1, time.Minute)
	v := p.Count("path:"+path, 1, time.Minute)
	if err := p.Do(ctx); err != nil {
		return 0, 0, err // how many commands failed, and the first error
	}
	users, _ := u.Int()
	views, _ := v.Int()

	return users, views, nil
}

func hit(ctx context.Context, counters *pipeline.Counters, user, path string) (bool, error) {
	hits := []pipeline.Hit{
		{Key: "user:" + user, By: 1, TTL: time.Minute},
		{Key: "path:" + path, By: 1, TTL: time.Minute},
	}
	err := counters.Hit(ctx, hits) // each hit has its Total or its Err
	return hits[0].Total <= 100 && hits[1].Total <= 1000, err
}

func transaction(ctx context.Context, client *cluster.Client) ([]int64, error) {
	var replies []int64
	p := radix.NewPipeline()
	p.Append(radix.Cmd(nil, "MULTI"))
	p.Append(radix.Cmd(nil, "INCRBY", "{shop}orders", "1"))
	p.Append(radix.Cmd(nil, "INCRBY", "{shop}items", "3"))
	p.Append(radix.Cmd(&replies, "EXEC"))
	err := client.Do(ctx, p)

	return replies, err
}

// firstError returns the first error inside the reply to EXEC or to a script.
func firstError(replies []resp3.RawMessage) error {
	for _, reply := range replies {
		if err := reply.UnmarshalInto(nil, resp.NewOpts()); err != nil {
			return err // a resp3.SimpleError
		}
	}
	return nil
}

// double doubles the number at key. It starts again if another client changes it meanwhile.
func double(ctx context.Context, client *cluster.Client, key string) error {
	for range 10 {
		done := radix.Maybe{Rcv: new([]string)}
		err := client.Do(ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
			if err := conn.Do(ctx, radix.Cmd(nil, "WATCH", key)); err != nil {
				return err
			}
			var n int
			if err := conn.Do(ctx, radix.Cmd(&n, "GET", key)); err != nil {
				return err
			}
			p := radix.NewPipeline()
			p.Append(radix.Cmd(nil, "MULTI"))
			p.Append(radix.Cmd(nil, "SET", key, strconv.Itoa(2*n)))
			p.Append(radix.Cmd(&done, "EXEC"))
			return conn.Do(ctx, p)
		}))
		if err != nil || !done.Null { // EXEC replies null if key was changed after WATCH
			return err
		}
	}
	return errors.New("others changed " + key + " each time")
}

func script(ctx context.Context, client *cluster.Client) (int64, error) {
	add := pipeline.NewScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`) // once, for all pipelines

	p := pipeline.New(client)
	total := p.Eval(add, []string{"hits"}, "5").Fast() // Fast: it does not travel on the lanes for slow commands
	_ = p.Do(ctx)
	return total.Int()
}

func scan(ctx context.Context, client *cluster.Client) ([]string, error) {
	var keys []string
	scanner := radix.ScannerConfig{Pattern: "user:*"}.NewMulti(client) // visits all primaries
	for key := ""; scanner.Next(ctx, &key); {
		keys = append(keys, key)
	}
	err := scanner.Close()

	return keys, err
}

// subscribe calls handle for each message. It dials and subscribes again when its connection breaks. Messages that
// are published once it has called ready arrive.
func subscribe(ctx context.Context, client *cluster.Client, channel string, ready func(), handle func(radix.PubSubMessage)) error {
	dial := func(ctx context.Context, _, addr string) (radix.Conn, error) {
		conn, err := client.Dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		var confirmed resp3.RawMessage // radix's Subscribe does not wait for it
		if err := conn.EncodeDecode(ctx, radix.Cmd(nil, "SUBSCRIBE", channel).(resp.Marshaler), &confirmed); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}
	conn, err := radix.PersistentPubSubConnConfig{Dialer: radix.Dialer{CustomConn: dial}}.New(ctx, func() (network, addr string, err error) {
		return "tcp", "", nil // any primary: PUBLISH reaches all nodes
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Subscribe(ctx, channel); err != nil { // again, so that radix knows whose messages to return
		return err
	}
	ready()
	for {
		message, err := conn.Next(ctx)
		if err != nil {
			return err
		}
		handle(message)
	}
}

func TestCommands(t *testing.T) {
	redis := redistest.StartEmulated(t, 3)
	client, err := cluster.Config{}.New(t.Context(), redis.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	ctx := t.Context()
	require.NoError(t, client.Cmd(ctx, "SET", "name", "Ada").Err())
	require.NoError(t, client.Cmd(ctx, "HSET", "shoe", "name", "boot", "price", 80).Err())
	hits, name, shoe, err := oneCommand(ctx, client)
	require.NoError(t, err)
	require.Equal(t, []any{int64(5), "Ada", product{"boot", 80}}, []any{hits, name, shoe})

	users, views, err := countAll(ctx, client, "42", "/")
	require.NoError(t, err)
	require.Equal(t, []int64{1, 1}, []int64{users, views})
	counters := pipeline.CountersConfig{}.New(client)
	defer counters.Close()
	allowed, err := hit(ctx, counters, "43", "/")
	require.NoError(t, err)
	require.True(t, allowed)

	replies, err := transaction(ctx, client)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 3}, replies)
	require.NoError(t, double(ctx, client, "hits"))
	errorsInside(ctx, t, client)
	total, err := script(ctx, client)
	require.NoError(t, err)
	require.Equal(t, int64(15), total)
	keys, err := scan(ctx, client)
	require.NoError(t, err)
	slices.Sort(keys)
	require.Equal(t, []string{"user:42", "user:43"}, keys)
}

// errorsInside: an error inside the reply to EXEC is a value.
func errorsInside(ctx context.Context, t *testing.T, client *cluster.Client) {
	exec := func(into any) error {
		p := radix.NewPipeline()
		p.Append(radix.Cmd(nil, "MULTI"))
		p.Append(radix.Cmd(nil, "SET", "{shop}items", "boots"))
		p.Append(radix.Cmd(nil, "INCRBY", "{shop}items", "3"))
		p.Append(radix.Cmd(into, "EXEC"))
		return client.Do(ctx, p)
	}
	var texts []string
	require.NoError(t, exec(&texts))
	require.Contains(t, texts[1], "not an integer")
	var values []any
	require.NoError(t, exec(&values))
	require.ErrorContains(t, values[1].(error), "not an integer")
	var raw []resp3.RawMessage
	require.NoError(t, exec(&raw))
	require.ErrorAs(t, firstError(raw), new(resp3.SimpleError))
	require.NoError(t, firstError(raw[:1]))
	require.ErrorAs(t, exec(radix.Tuple{nil, nil}), new(resp3.SimpleError))
	require.ErrorIs(t, exec(new([]int64)), redislanes.ErrDecode)
	require.NoError(t, client.Cmd(ctx, "DEL", "{shop}items").Err())
}

// TestSubscribe: each message that is published once the subscriber is ready arrives, though what it sends takes a
// while to the servers. When its connection ends, it subscribes again.
func TestSubscribe(t *testing.T) {
	redis := servers.StartCluster(t, servers.Options{Primaries: 3})
	client, err := cluster.Config{}.New(t.Context(), redis.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	proxies := redistest.StartProxies(t, redis.Addrs())
	subscriber, err := cluster.Config{AddrMap: proxies.AddrMap}.New(t.Context(), redis.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { _ = subscriber.Close() })
	for _, proxy := range proxies {
		proxy.Delay(redistest.ToServer, 50*time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	const channels = 20
	said, ended := make(chan string, 1000), make(chan error, channels)
	publish := func(channel string) { assert.NoError(t, client.Cmd(ctx, "PUBLISH", channel, "hello").Err()) }
	for i := range channels {
		channel := fmt.Sprint("news-", i)
		go func() {
			ended <- subscribe(ctx, subscriber, channel, func() { publish(channel) }, func(m radix.PubSubMessage) { said <- m.Channel })
		}()
	}
	heard := make(map[string]bool)
	for range channels {
		heard[<-said] = true
	}
	require.Len(t, heard, channels)

	require.NoError(t, client.ForEachPrimary(ctx, func(ctx context.Context, node radix.Client) error {
		return node.Do(ctx, radix.Cmd(nil, "CLIENT", "KILL", "TYPE", "pubsub"))
	}))
	for again := false; !again; {
		publish("news-0")
		select {
		case channel := <-said:
			again = channel == "news-0"
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	for range channels {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
}

// TestRecipes: the lines of commands.md about common tasks.
func TestRecipes(t *testing.T) {
	client := connect(t)
	ctx := t.Context()
	require.False(t, client.Cmd(ctx, "SET", "lock", "mine", "NX", "PX", 10_000).IsNull())
	require.True(t, client.Cmd(ctx, "SET", "lock", "other", "NX", "PX", 10_000).IsNull())

	require.NoError(t, client.Cmd(ctx, "ZADD", "z", 2, "b", 1, "a").Err())
	ordered, err := cluster.As[[]string](client.Cmd(ctx, "ZRANGE", "z", 0, -1, "WITHSCORES"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "1", "b", "2"}, ordered)
	scores, err := cluster.As[map[string]float64](client.Cmd(ctx, "ZRANGE", "z", 0, -1, "WITHSCORES"))
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"a": 1, "b": 2}, scores)

	require.NoError(t, client.Cmd(ctx, "XGROUP", "CREATE", "s", "workers", "$", "MKSTREAM").Err())
	require.NoError(t, client.Cmd(ctx, "XADD", "s", "*", "job", "1").Err())
	jobs, err := cluster.As[[]radix.StreamEntries](client.Cmd(ctx, "XREADGROUP", "GROUP", "workers", "w1", "BLOCK", 1000, "STREAMS", "s", ">"))
	require.NoError(t, err)
	require.Equal(t, [][2]string{{"job", "1"}}, jobs[0].Entries[0].Fields)
	require.NoError(t, client.Cmd(ctx, "XACK", "s", "workers", jobs[0].Entries[0].ID.String()).Err())
}
