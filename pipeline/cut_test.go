package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A cutTest sends a pipeline of 20 commands over a connection that breaks at some byte, and
// compares what the caller was told with what the server holds. They are ten INCRBY with
// their EXPIRE, or ten Count, which leaves no key without a time to live.
type cutTest struct {
	count  bool
	server *servers.Cluster
	proxy  *redistest.Proxy
	seen   map[string]int
}

const counted = 10

func (c *cutTest) run(t *testing.T, name string, arm func()) {
	config := cluster.Config{Pool: pool.Laned{Lanes: 1}, RefreshEvery: -1}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := config.New(ctx, []string{c.proxy.Addr()})
	require.NoError(t, err)
	defer client.Close()
	p := pipeline.New(client)
	p.Cmd("PING") // the connection is there
	require.NoError(t, p.Do(ctx))

	p.Reset()
	var (
		totals, expiries []pipeline.Reply
		keys             []string
	)
	key := func(i int) string { return fmt.Sprintf("%s:%d", name, i) }
	for i := range counted {
		keys = append(keys, key(i))
		if c.count {
			totals = append(totals, p.Count(key(i), 7, time.Hour))
			continue
		}
		totals = append(totals, p.IncrBy(key(i), 7))
		expiries = append(expiries, p.Expire(key(i), time.Hour))
	}
	arm()
	err = p.Do(ctx)
	var texts []string
	require.NoError(t, c.server.Nodes()[0].Do(ctx, &texts, "MGET", keys...))
	failed := 0
	for _, r := range expiries {
		if c.outcome(t, r) != "acknowledged" {
			failed++
		}
	}
	for i := range counted {
		told := c.outcome(t, totals[i])
		held, _ := strconv.ParseInt(texts[i], 10, 64) // 0 of a key that is not there
		low, high := int64(7), int64(7)
		switch told {
		case "unknown":
			low = 0
		case "not sent":
			low, high = 0, 0
		}
		if told != "acknowledged" {
			failed++
		}
		require.GreaterOrEqual(t, held, low, "%s: %s, %s", name, key(i), told)
		require.LessOrEqual(t, held, high, "%s: %s, %s", name, key(i), told)
	}
	require.Equal(t, failed > 0, err != nil, "%s: %v", name, err)
	if !c.count {
		return
	}
	for i := range counted {
		var left int
		require.NoError(t, c.server.Nodes()[0].Do(ctx, &left, "TTL", key(i)))
		require.NotEqual(t, -1, left, "%s: %s has no time to live", name, key(i))
	}
}

// outcome says what the caller was told of the command, in one way only.
func (c *cutTest) outcome(t *testing.T, r pipeline.Reply) string {
	notSent, unknown := errors.Is(r.Err(), redislanes.ErrNotSent), errors.Is(r.Err(), redislanes.ErrUnknownOutcome)
	told := "acknowledged"
	switch {
	case r.Err() == nil:
	case notSent && !unknown:
		told = "not sent"
	case unknown && !notSent:
		told = "unknown"
	default:
		t.Fatalf("no outcome, or two: %v", r.Err())
	}
	c.seen[told]++
	return told
}

// sizes returns the bytes of the pipeline and of its replies for a name of the length that the
// tests use.
func (c *cutTest) sizes() (request, replies int) {
	const incrby = len("*3\r\n$6\r\nINCRBY\r\n$9\r\nc-00000:0\r\n$1\r\n7\r\n")
	const expire = len("*3\r\n$6\r\nEXPIRE\r\n$9\r\nc-00000:0\r\n$4\r\n3600\r\n")
	const set = len("*6\r\n$3\r\nSET\r\n$9\r\nc-00000:0\r\n$1\r\n0\r\n$2\r\nEX\r\n$4\r\n3600\r\n$2\r\nNX\r\n")
	if c.count {
		return counted * (set + incrby), counted * len("+OK\r\n:7\r\n")
	}
	return counted * (incrby + expire), counted * len(":7\r\n:1\r\n")
}

// offsets returns the offsets at which a test cuts a connection: all of so many bytes. The race
// detector is slow, so with it they are every third, and others from run to run.
func offsets(size int) (offsets []int) {
	first, step := 0, 1
	if race.Enabled {
		first, step = rand.N(3), 3
	}
	for n := first; n < size; n += step {
		offsets = append(offsets, n)
	}
	return offsets
}

// TestCutAtEveryOffset cuts the connection at every byte of the request and of
// the replies, on the way.
func TestCutAtEveryOffset(t *testing.T) {
	for name, count := range map[string]bool{"IncrBy and Expire": false, "Count": true} {
		request, replies := (&cutTest{count: count}).sizes()
		for d, size := range map[redistest.Direction]int{redistest.ToServer: request, redistest.ToClient: replies} {
			t.Run(name+" "+d.String(), func(t *testing.T) {
				t.Parallel()
				server := servers.StartServer(t, servers.Options{})
				c := &cutTest{count, server, redistest.StartProxy(t, server.Addrs()[0]), make(map[string]int)}
				for _, n := range offsets(size) {
					var cut <-chan struct{}
					c.run(t, fmt.Sprintf("c-%05d", n), func() { cut = c.proxy.CutAfter(d, n) })
					<-cut
				}
				t.Logf("%d offsets: %v", size, c.seen)
				require.NotZero(t, c.seen["unknown"])
				require.NotZero(t, c.seen["acknowledged"], "replies that arrived before the cut count")
			})
		}
	}
}

// immortal returns the keys of the server without a time to live.
func immortal(t *testing.T, server *servers.Cluster, keys []string) (found []string) {
	t.Helper()
	p := pipeline.New(open(t, cluster.Config{}, server.Addrs()))
	left := make([]pipeline.Reply, len(keys))
	for i, key := range keys {
		left[i] = p.Cmd("PTTL", key)
	}
	require.NoError(t, p.Do(within(t, 20*time.Second)))
	for i, r := range left {
		if ms, err := r.Int(); err != nil || ms == -1 {
			found = append(found, fmt.Sprintf("%s (%v)", keys[i], err))
		}
	}
	return found
}

// TestCutHitExpires: wherever the connection breaks in a hit, a key that exists
// afterwards has its time to live, also if it was known to have one and was deleted
// meanwhile.
func TestCutHitExpires(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	const incrby = len("*3\r\n$6\r\nINCRBY\r\n$6\r\nc00000\r\n$1\r\n1\r\n")
	const set = len("*6\r\n$3\r\nSET\r\n$6\r\nc00000\r\n$1\r\n0\r\n$2\r\nEX\r\n$4\r\n3600\r\n$2\r\nNX\r\n")
	const expire = len("*3\r\n$6\r\nEXPIRE\r\n$6\r\nc00000\r\n$4\r\n3600\r\n")
	const pttl = len("*2\r\n$4\r\nPTTL\r\n$6\r\nc00000\r\n")
	hit := func(key string, every, known bool, arm func() <-chan struct{}) {
		ctx := within(t, 20*time.Second)
		client, err := cluster.Config{Pool: pool.Laned{Lanes: 1}, RefreshEvery: -1}.New(ctx, []string{proxy.Addr()})
		require.NoError(t, err)
		defer client.Close()
		counters := pipeline.CountersConfig{ExpireEveryHit: every}.New(client)
		hits := []pipeline.Hit{{Key: key, By: 1, TTL: time.Hour}}
		if known {
			require.NoError(t, counters.Hit(ctx, hits))
		}
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "DEL", key))) // the connection is there
		cut := arm()
		_ = counters.Hit(ctx, hits)
		<-cut
		require.NoError(t, counters.Close())
	}
	var keys []string
	for i := range 4 {
		every, known := i/2 == 1, i%2 == 1
		sizes := map[redistest.Direction]int{redistest.ToServer: set + incrby + pttl, redistest.ToClient: len("+OK\r\n:1\r\n:3600000\r\n")}
		switch {
		case known: // the total shows that the key was not there
			sizes = map[redistest.Direction]int{redistest.ToServer: incrby + expire, redistest.ToClient: len(":1\r\n:1\r\n")}
		case every:
			sizes = map[redistest.Direction]int{redistest.ToServer: set + incrby + expire, redistest.ToClient: len("+OK\r\n:1\r\n:1\r\n")}
		}
		for d, size := range sizes {
			for _, n := range offsets(size) {
				key := fmt.Sprintf("c%d%d%03d", i, d, n)
				keys = append(keys, key)
				hit(key, every, known, func() <-chan struct{} { return proxy.CutAfter(d, n) })
			}
		}
	}
	require.Empty(t, immortal(t, server, keys))
}
