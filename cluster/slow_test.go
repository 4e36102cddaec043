package cluster_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// held holds up the replies to some commands, with everything behind them on the same connection.
type held struct {
	arrived chan string   // the name of each command that is held up
	release chan struct{} // closed to let all replies go
	once    sync.Once
}

// A holdingConn holds up replies once a command of one of the names was sent, until let is called.
type holdingConn struct {
	net.Conn
	*held
	names []string
	holds atomic.Bool
}

func (c *holdingConn) Write(b []byte) (int, error) {
	for _, name := range c.names {
		if bytes.Contains(b, []byte("\r\n"+name+"\r\n")) {
			c.holds.Store(true)
			c.arrived <- name
		}
	}
	return c.Conn.Write(b)
}

func (c *holdingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.holds.Load() {
		<-c.release
	}
	return n, err
}

func (h *held) let() { h.once.Do(func() { close(h.release) }) }

func (h *held) wait(t *testing.T) string {
	select {
	case name := <-h.arrived:
		return name
	case <-within(t, 10*time.Second).Done():
		t.Fatal("the command did not arrive")
		return ""
	}
}

// slowSetup is a client. Its connections hold up commands of these names.
func slowSetup(t *testing.T, real *servers.Cluster, c cluster.Config, names ...string) (*cluster.Client, *held) {
	h := &held{arrived: make(chan string, 1000), release: make(chan struct{})}
	t.Cleanup(h.let)
	c.RefreshEvery = -1
	c.Dialer.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &holdingConn{Conn: conn, held: h, names: names}, err
	}
	return open(t, c, real.Addrs()), h
}

// oneLane has one lane, and others for slow commands. A lane that a test holds up must stay as it is.
var oneLane = pool.Laned{Lanes: 1, Options: pool.Options{StallTimeout: time.Hour}}

// slowWays are the ways in which a slow command on the key may come.
var slowWays = map[string]func(context.Context, *cluster.Client, string) error{
	"HGETALL, radix": func(ctx context.Context, c *cluster.Client, key string) error {
		return c.Do(ctx, radix.Cmd(new(map[string]string), "HGETALL", key))
	},
	"EVALSHA, radix": func(ctx context.Context, c *cluster.Client, key string) error {
		script := radix.NewEvalScript("return redis.call('HLEN', KEYS[1])")
		return c.Do(ctx, script.Cmd(nil, []string{key}))
	},
	"HGETALL, radix.Pipeline": func(ctx context.Context, c *cluster.Client, key string) error {
		p := radixPipeline(radix.Cmd(nil, "HLEN", key), radix.Cmd(nil, "HGETALL", key))
		return c.Do(ctx, p)
	},
	"HGETALL, one node's client": func(ctx context.Context, c *cluster.Client, key string) error {
		clients, err := c.Clients()
		if err != nil {
			return err
		}
		return clients[c.Primary(cluster.Slot(key))].Primary.Do(ctx, radix.Cmd(nil, "HGETALL", key))
	},
	"HGETALL, pipeline": func(ctx context.Context, c *cluster.Client, key string) error {
		p := pipeline.New(c)
		p.Cmd("HGETALL", key)
		return p.Do(ctx)
	},
	"HGETALL, pipeline of an action": func(ctx context.Context, c *cluster.Client, key string) error {
		p := pipeline.New(c)
		p.Append(radix.Cmd(nil, "HGETALL", key))
		return p.Do(ctx)
	},
	"HGET, marked": func(ctx context.Context, c *cluster.Client, key string) error {
		p := pipeline.New(c)
		p.Cmd("HGET", key, "f").Slow()
		_ = p.Do(ctx) // null
		return nil
	},
	"HMGET, by the settings": func(ctx context.Context, c *cluster.Client, key string) error {
		return c.Do(ctx, radix.Cmd(nil, "HMGET", key, "f"))
	},
}

// TestFastPassesSlow holds up the reply to a slow command. A fast one for the
// same key, on the same node, is answered meanwhile.
func TestFastPassesSlow(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	for way, slow := range slowWays {
		t.Run(way, func(t *testing.T) {
			client, h := slowSetup(t, real, cluster.Config{Pool: oneLane, Slow: append(cluster.SlowCommands(), "HMGET")},
				"HGETALL", "EVALSHA", "HGET", "HMGET")
			ctx := within(t, 20*time.Second)
			done := make(chan error, 1)
			go func() { done <- slow(ctx, client, "{"+way+"}") }()
			h.wait(t)
			require.Equal(t, 1, stats(client).SlowInFlight)
			for i := range 10 {
				var n int
				require.NoError(t, client.Do(ctx, radix.Cmd(&n, "INCRBY", "{"+way+"}count", "1")))
				require.Equal(t, i+1, n)
			}
			require.Zero(t, stats(client).InFlight)
			require.Empty(t, done)
			h.let()
			require.NoError(t, <-done)
		})
	}
}

// TestLargeTripsTravelSlow: so many commands for one node do not hold up others,
// whatever they are, and fewer do not need lanes of their own.
func TestLargeTripsTravelSlow(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{Pool: oneLane}, e.Addrs())
	p := pipeline.New(client)
	for _, n := range []int{999, 1000} {
		p.Reset()
		var last pipeline.Reply
		for range n {
			last = p.IncrBy("key", 1)
		}
		require.NoError(t, p.Do(within(t, 20*time.Second)))
		total, err := last.Int()
		require.NoError(t, err)
		require.Contains(t, []int64{999, 1999}, total)
		lanes := client.Stats().Nodes[0].Pool.SlowLaneInFlight
		require.Equal(t, n >= 1000, lanes != nil, "%d commands", n)
	}
}
