package cluster_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// A poisoned server hangs up on each command for the key "poison", or replies to it with a text.
type poisoned struct {
	client *cluster.Client
	sent   atomic.Int32 // commands for the key
	lost   atomic.Int32 // connections on which one was sent behind or before others
}

func newPoisoned(t *testing.T, reply string, c cluster.Config) *poisoned {
	p := new(poisoned)
	f := newFake(t)
	var seen sync.Map // of connections, that other commands were sent over
	f.all = func(w io.Writer, cmd []string) bool {
		if len(cmd) < 2 || cmd[1] != "poison" {
			if cmd[0] == "INCR" || cmd[0] == "GET" {
				seen.Store(w, true)
			}
			return false
		}
		p.sent.Add(1)
		if _, shared := seen.Load(w); shared {
			p.lost.Add(1)
		}
		if reply == "" {
			_ = w.(io.Closer).Close()
		} else {
			_ = say(reply)(w, cmd)
		}
		return true
	}
	f.start()
	c.RefreshEvery = -1
	p.client = open(t, c, []string{f.addr()})
	return p
}

// TestReadThatEndsItsConnection: a server, or what is in front of it, hangs up on one command. If that may
// run twice, it is sent once more, over a connection that nobody shares, and then fails. A reply beyond the
// program's own limit fails it at once. Other calls lose what they had on the first connection.
func TestReadThatEndsItsConnection(t *testing.T) {
	get := func(ctx context.Context, c *cluster.Client) error { return c.Cmd(ctx, "GET", "poison").Err() }
	for name, c := range map[string]struct {
		reply  string
		config cluster.Config
		do     func(ctx context.Context, c *cluster.Client) error
		sent   int32
	}{
		"a read":                     {"", cluster.Config{}, get, 2},
		"with exclusive connections": {"", cluster.Config{Pool: pool.Fixed{Size: 5}}, get, 2},
		"a slow read": {"", cluster.Config{}, func(ctx context.Context, c *cluster.Client) error {
			return c.Cmd(ctx, "LRANGE", "poison", 0, -1).Err()
		}, 2},
		"a read for replicas": {"", cluster.Config{}, func(ctx context.Context, c *cluster.Client) error {
			return c.DoSecondary(ctx, radix.Cmd(nil, "GET", "poison"))
		}, 2},
		"a marked write": {"", cluster.Config{}, func(ctx context.Context, c *cluster.Client) error {
			p := pipeline.New(c)
			r := p.Cmd("SET", "poison", "v").Idempotent()
			_ = p.Do(ctx)
			return r.Err()
		}, 2},
		"a write": {"", cluster.Config{}, func(ctx context.Context, c *cluster.Client) error {
			return c.Cmd(ctx, "SET", "poison", "v").Err()
		}, 1},
		"a blocking command": {"", cluster.Config{}, func(ctx context.Context, c *cluster.Client) error {
			return c.Cmd(ctx, "BLPOP", "poison", 1).Err()
		}, 1},
		"no RESP":        {"?what\r\n", cluster.Config{}, get, 2},
		"beyond a limit": {"$2000000\r\n" + strings.Repeat("x", 2000000) + "\r\n", cluster.Config{Dialer: lanes.Dialer{MaxReply: 1 << 20}}, get, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPoisoned(t, c.reply, c.config)
			ctx := within(t, 30*time.Second)
			var others sync.WaitGroup
			var ended atomic.Bool
			var failed atomic.Int32
			for i := range 4 {
				others.Go(func() {
					for !ended.Load() {
						if p.client.Cmd(ctx, "INCR", fmt.Sprint("other", i)).Err() != nil {
							failed.Add(1)
						}
					}
				})
			}
			for p.client.Cmd(ctx, "INCR", "warm").Err() != nil {
				require.NoError(t, ctx.Err())
			}
			failed.Store(0)
			err := c.do(ctx, p.client)
			ended.Store(true)
			others.Wait()
			require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
			require.NoError(t, ctx.Err())
			require.Equal(t, c.sent, p.sent.Load())
			if c.config.Pool == nil {
				require.LessOrEqual(t, p.lost.Load(), int32(1), "nobody shares the second connection")
			}
			require.LessOrEqual(t, failed.Load(), int32(4), "what each of the others had on the first connection")
		})
	}
}

// TestReadBesideALostCommand: a read on a connection that ends because of another command has its reply.
func TestReadBesideALostCommand(t *testing.T) {
	t.Parallel()
	p := newPoisoned(t, "", cluster.Config{Pool: pool.Laned{Lanes: 1}})
	ctx := within(t, 30*time.Second)
	pipe := pipeline.New(p.client)
	before, bad, after := pipe.Cmd("GET", "a"), pipe.Cmd("GET", "poison"), pipe.Cmd("GET", "b")
	require.Error(t, pipe.Do(ctx))
	require.NoError(t, before.Err())
	require.ErrorIs(t, bad.Err(), redislanes.ErrUnknownOutcome)
	require.NoError(t, after.Err())
	require.EqualValues(t, 2, p.sent.Load())
}

// TestProxyWithADeadShard: what a proxy says of a shard that is down fails the call at once. It is no Redis
// text, so the command may have run.
func TestProxyWithADeadShard(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"ERR Connection timed out", "upstream failure", "no upstream host"} {
		p := newPoisoned(t, "-"+text+"\r\n", cluster.Config{Standalone: true})
		ctx := within(t, 30*time.Second)
		var said resp3.SimpleError
		require.ErrorAs(t, p.client.Cmd(ctx, "GET", "poison").Err(), &said)
		require.Equal(t, text, said.S)
		require.EqualValues(t, 1, p.sent.Load())
		require.NoError(t, p.client.Cmd(ctx, "GET", "other").Err())
	}
}
