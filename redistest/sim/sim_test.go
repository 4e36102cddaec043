package sim

import (
	"bufio"
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A peer is a connection to a node.
type peer struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, d dialer, addr string) *peer {
	conn, err := d.Dial(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &peer{t, conn, bufio.NewReader(conn)}
}

// A dialer is a cluster or a host.
type dialer interface {
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// say sends an inline command and returns the first line of its reply, or the error.
func (p *peer) say(command string) string {
	p.t.Helper()
	require.NoError(p.t, p.SetDeadline(time.Now().Add(time.Second)))
	if _, err := p.Write([]byte(command + "\r\n")); err != nil {
		return err.Error()
	}
	return p.next()
}

// next returns the first line of the next reply, or the error.
func (p *peer) next() string {
	line, err := p.r.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// inBubble runs a test with a cluster in virtual time.
func inBubble(t *testing.T, config Config, test func(t *testing.T, c *Cluster)) {
	synctest.Test(t, func(t *testing.T) { test(t, Start(t, config)) })
}

// A key of the first node and one of the second one.
const here, there = "b", "a"

func TestCluster(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, c *Cluster) {
		require.Len(t, c.Addrs(), 6)
		require.Same(t, c.Nodes()[0], c.Owner(here))
		require.NotSame(t, c.Nodes()[0], c.Owner(there))
		require.True(t, c.Nodes()[3].Replica())
		require.False(t, c.Nodes()[0].Replica())
		p := dial(t, c, c.Owner(here).Addr())
		began := time.Now()
		require.Equal(t, "+OK", p.say("SET "+here+" 7 PX 1000"))
		require.Equal(t, 500*time.Microsecond, time.Since(began), "one round trip")
		value, ok := c.Value(here)
		require.True(t, ok)
		require.Equal(t, "7", value)
		left, ok := c.TTL(here)
		require.True(t, ok)
		require.InDelta(t, time.Second, left, float64(time.Millisecond))
		require.Contains(t, p.say("GET "+there), "-MOVED")
	})
}

// TestFaults: what each fault does to an open connection and to a new one, and that Heal ends
// it.
func TestFaults(t *testing.T) {
	const timeout = "i/o timeout"
	for name, c := range map[string]struct {
		fault      func(n *Node)
		open, anew string // what a command replies, by an open connection and a new one
	}{
		"none":        {func(*Node) {}, ":1", ":2"},
		"killed":      {(*Node).Kill, "EOF", "refused"},
		"frozen":      {(*Node).Freeze, timeout, timeout},
		"isolated":    {(*Node).Isolate, timeout, "deadline"},
		"refused":     {(*Node).RefuseDials, ":1", "refused"},
		"delayed":     {func(n *Node) { n.Delay(300 * time.Millisecond) }, ":1", ":2"},
		"one slow":    {func(n *Node) { n.DelayOne(2 * time.Second) }, timeout, ":2"},
		"replies cut": {func(n *Node) { n.CutReplies(1) }, "reset", "reset"},
		"cut":         {(*Node).Cut, "reset", ":1"},
		"silent":      {(*Node).CutSilently, timeout, ":1"},
		"error":       {func(n *Node) { n.Refuse("incr", "OOM no", 1) }, "-OOM no", ":1"},
		"capitals":    {func(n *Node) { n.Refuse("INCR", "OOM no", 0) }, "-OOM no", "-OOM no"},
		"keys":        {func(n *Node) { n.Refuse("*", "OOM no", 0) }, "-OOM no", "-OOM no"},
		"paused":      {func(n *Node) { n.PauseWrites(time.Hour) }, timeout, timeout},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(t *testing.T, redis *Cluster) {
				n := redis.Owner(here)
				p := dial(t, redis, n.Addr())
				c.fault(n)
				assert.Contains(t, p.say("INCR "+here), c.open)
				assert.Contains(t, anew(t, redis, n), c.anew)
				n.Heal()
				time.Sleep(2 * time.Second)
				require.Regexp(t, `^:\d`, anew(t, redis, n), "healed")
			})
		})
	}
}

// anew counts by a new connection.
func anew(t *testing.T, redis *Cluster, n *Node) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	conn, err := redis.Dial(ctx, "tcp", n.Addr())
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	return (&peer{t, conn, bufio.NewReader(conn)}).say("INCR " + here)
}

// TestFailover: the replica serves at once, the old primary until it hears of it, and only
// the lossy kind loses a write.
func TestFailover(t *testing.T) {
	for name, lossy := range map[string]bool{"kept": false, "lossy": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{ReplicationLag: time.Minute}, func(t *testing.T, c *Cluster) {
				old := c.Owner(here)
				p := dial(t, c, old.Addr())
				require.Equal(t, ":1", p.say("INCR "+here))
				failover := old.Failover
				if lossy {
					failover = old.FailoverLossy
				}
				replica := failover()
				require.Same(t, replica, c.Owner(here))
				require.True(t, old.Replica())
				require.Equal(t, lossy, c.LostWrites(here))
				again := ":2"
				if lossy {
					again = ":1"
				}
				require.Equal(t, again, dial(t, c, replica.Addr()).say("INCR "+here))
				time.Sleep(200 * time.Millisecond)
				require.Contains(t, p.say("INCR "+here), "MOVED")
				require.Nil(t, old.Failover(), "it is a replica")
			})
		})
	}
}

// TestStart: a primary that has started serves after two seconds, one that was replaced never
// again.
func TestStart(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, c *Cluster) {
		n := c.Owner(here)
		n.Kill()
		n.Heal()
		time.Sleep(1990 * time.Millisecond)
		require.Equal(t, "-CLUSTERDOWN The cluster is down", anew(t, c, n))
		time.Sleep(10 * time.Millisecond)
		require.Equal(t, ":1", anew(t, c, n))
		n.Kill()
		n.Failover()
		n.Heal()
		require.Equal(t, "-CLUSTERDOWN The cluster is down", anew(t, c, n))
		time.Sleep(100 * time.Millisecond)
		require.Contains(t, anew(t, c, n), "-MOVED")
	})
}

func TestMove(t *testing.T) {
	inBubble(t, Config{Replicas: -1}, func(t *testing.T, c *Cluster) {
		from, to := c.Owner(here), c.Owner(there)
		p := dial(t, c, from.Addr())
		require.Equal(t, ":1", p.say("INCR "+here))
		finish := c.StartMove(here, to)
		require.Equal(t, ":2", p.say("INCR "+here))
		require.Contains(t, p.say("INCR {"+here+"}new"), "-ASK")
		finish()
		require.Same(t, to, c.Owner(here))
		require.Contains(t, p.say("INCR "+here), "-MOVED")
		require.Equal(t, ":3", dial(t, c, to.Addr()).say("INCR "+here))
		c.Move(here, from)
		require.Equal(t, ":4", p.say("INCR "+here))
		c.StartMove(here, to)
		c.Heal()
		require.Same(t, to, c.Owner(here), "healed")
	})
}

func TestSentinels(t *testing.T) {
	inBubble(t, Config{Sentinels: 3, Password: "secret"}, func(t *testing.T, c *Cluster) {
		require.Len(t, c.Addrs(), 2)
		require.Len(t, c.SentinelAddrs(), 3)
		require.Equal(t, "*2", dial(t, c, c.SentinelAddrs()[0]).say("SENTINEL get-master-addr-by-name "+SentinelName))
		p := dial(t, c, c.Owner(here).Addr())
		require.Contains(t, p.say("GET "+here), "-NOAUTH")
		require.Equal(t, "+OK", p.say("AUTH secret"))
		require.Equal(t, ":1", p.say("INCR "+here))
	})
}

// TestSentinelReplies: as those of a real Sentinel, also to what makes no sense.
func TestSentinelReplies(t *testing.T) {
	inBubble(t, Config{Sentinels: 3}, func(t *testing.T, c *Cluster) {
		for _, say := range [][2]string{
			{"HELLO 9", "-NOPROTO unsupported protocol version"},
			{"HELLO x", "-ERR Protocol version is not an integer or out of range"},
			{"PING", "+PONG"},
			{"GET k", "-ERR unknown command 'GET', with args beginning with: 'k' "},
			{"SENTINEL foo " + SentinelName, "-ERR unknown subcommand 'foo'. Try SENTINEL HELP."},
			{"SENTINEL slaves " + SentinelName, "*1"},
			{"SENTINEL master x", "-ERR No such master with that name"},
			{"SUBSCRIBE", "-ERR wrong number of arguments for 'subscribe' command"},
			{"HELLO", "*12"},
		} {
			require.Equal(t, strings.TrimSpace(say[1]), dial(t, c, c.SentinelAddrs()[0]).say(say[0]), say[0])
		}
	})
}

// TestSwitchMaster: Sentinels tell of a failover when they hear of it.
func TestSwitchMaster(t *testing.T) {
	inBubble(t, Config{Sentinels: 3}, func(t *testing.T, c *Cluster) {
		p := dial(t, c, c.SentinelAddrs()[1])
		require.Equal(t, "*3", p.say("SUBSCRIBE +switch-master"))
		began := time.Now()
		old := c.Owner(here)
		old.Kill()
		old.Failover()
		require.NoError(t, p.SetDeadline(time.Now().Add(time.Second)))
		for line := ""; line != SentinelName+" 10.0.0.1 6379 10.0.0.2 6379\r\n"; {
			var err error
			line, err = p.r.ReadString('\n')
			require.NoError(t, err)
		}
		require.InDelta(t, 100*time.Millisecond, time.Since(began), float64(time.Millisecond))
	})
}

func TestExecuted(t *testing.T) {
	var log []string
	config := Config{Executed: func(e Execution) { log = append(log, strings.Join(e.Args, " ")+" "+e.Node+" "+e.Reply) }}
	inBubble(t, config, func(t *testing.T, c *Cluster) {
		p := dial(t, c, c.Owner(here).Addr())
		p.say("INCR " + here)
		p.say("LPUSH " + here + " x") // an error
	})
	require.Equal(t, []string{"INCR b 10.0.0.1:6379 :1\r\n"}, log)
}

// TestTrouble: a seed decides the faults, all kinds come, the list makes them again, and the cluster is well
// behind them.
func TestTrouble(t *testing.T) {
	seen := make(map[string]bool)
	troubles := func(seed uint64) (all []Fault) {
		server := []string{"", "redis-8.10", "valkey-9"}[seed%3]
		inBubble(t, Config{Seed: seed, Server: server}, func(t *testing.T, c *Cluster) {
			c.Host("limiter-1")
			began := time.Now()
			all = slices.Concat(c.Trouble(time.Minute), c.Trouble(time.Minute))
			require.Equal(t, 2*time.Minute, time.Since(began))
			healed(t, c)
			require.NoError(t, c.Replay(all))
			healed(t, c)
		})
		return all
	}
	for seed := range uint64(10) {
		first := troubles(seed)
		require.Equal(t, first, troubles(seed))
		for _, f := range first {
			seen[f.Kind] = true
			require.Less(t, f.At+f.For, time.Minute+1)
		}
	}
	require.Len(t, seen, len(kinds))
}

func healed(t *testing.T, c *Cluster) {
	time.Sleep(time.Second)
	for _, n := range c.Nodes() {
		require.Equal(t, "+PONG", dial(t, c, n.Addr()).say("PING"))
	}
}

func TestConfig(t *testing.T) {
	for text, c := range map[string]Config{
		`sim: Config.Server = "redis-9": must be empty, "redis-8.10" or "valkey-9"`:                       {Server: "redis-9"},
		"sim: Config.Primaries = -1: must be 0 to 100":                                                    {Primaries: -1},
		"sim: Config.Primaries = 101: must be 0 to 100":                                                   {Primaries: 101},
		"sim: Config.Primaries = 2: must be 0 or 1 with Sentinels":                                        {Sentinels: 1, Primaries: 2},
		"sim: Config.Replicas = 11: must be -1 to 10":                                                     {Replicas: 11},
		"sim: Config.Sentinels = -1: must be 0 to 10":                                                     {Sentinels: -1},
		"sim: Config.Sentinels = 11: must be 0 to 10":                                                     {Sentinels: 11},
		"sim: Config.Latency = 250ns: must be at least 1µs":                                               {Latency: 250},
		"sim: Config.Jitter = -1ns: must be at least 1µs":                                                 {Jitter: -1},
		"sim: Config.ReplicationLag = -2ns: must be at least 1µs":                                         {ReplicationLag: -2},
		"sim: Config.GossipLag = -1ns: must be at least 1µs":                                              {GossipLag: -1},
		`sim: Config.Weights["kill"]: there is no such kind of fault`:                                     {Weights: map[string]int{"kill": 1}},
		`sim: Config.Weights["Kill"] = -1: must be 0 to 1000`:                                             {Weights: map[string]int{"Kill": -1}},
		`sim: Config.Listen = ":7000": must be an IPv4 address and a port, such as 127.0.0.1:7000`:        {Listen: ":7000"},
		`sim: Config.Listen = "0.0.0.0:7000": must be an IPv4 address and a port, such as 127.0.0.1:7000`: {Listen: "0.0.0.0:7000"},
		"sim: Config.Weights leaves out all kinds of faults":                                              {Weights: map[string]int{"*": 0}},
	} {
		_, err := Launch(c)
		require.EqualError(t, err, text)
	}
}

// TestCutOffReplica: a replica that other nodes do not reach is not promoted. Healed, it has everything.
func TestCutOffReplica(t *testing.T) {
	for name, fault := range map[string]func(n *Node){"frozen": (*Node).Freeze, "isolated": (*Node).Isolate} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{Primaries: 1}, func(t *testing.T, c *Cluster) {
				primary, replica := c.Nodes()[0], c.Nodes()[1]
				p := dial(t, c, primary.Addr())
				require.Equal(t, "+OK", p.say("SET k 1"))
				fault(replica)
				require.Equal(t, "+OK", p.say("SET k 2"))
				require.Nil(t, primary.Failover())
				require.Nil(t, primary.FailoverLossy())
				replica.Heal()
				time.Sleep(10 * time.Millisecond)
				require.Same(t, replica, primary.FailoverLossy())
				value, _ := c.Value("k")
				require.Equal(t, "2", value)
				require.False(t, c.LostWrites("k"))
			})
		})
	}
}

// TestFrozenPrimaryRunsWhatWasSent: a process that was stopped has not heard that its replica took over. It
// acknowledges the commands that wait for it, and their writes are lost.
func TestFrozenPrimaryRunsWhatWasSent(t *testing.T) {
	inBubble(t, Config{Primaries: 1}, func(t *testing.T, c *Cluster) {
		primary := c.Nodes()[0]
		p := dial(t, c, primary.Addr())
		require.Equal(t, ":1", p.say("INCR k"))
		time.Sleep(time.Second)
		primary.Freeze()
		require.NoError(t, p.SetDeadline(time.Time{}))
		_, err := p.Write([]byte("INCR k\r\n"))
		require.NoError(t, err)
		replica := primary.Failover()
		require.NotNil(t, replica)
		time.Sleep(time.Minute)
		require.False(t, c.LostWrites("k"))
		primary.Heal()
		require.Equal(t, ":2", p.next())
		require.True(t, c.LostWrites("k"))
		time.Sleep(time.Second)
		require.Contains(t, p.say("INCR k"), "-MOVED")
		require.True(t, primary.Replica())
		value, _ := c.Value("k")
		require.Equal(t, "1", value)
	})
}

// TestWeights: Trouble makes the kinds that have a weight. Called again, it makes other faults.
func TestWeights(t *testing.T) {
	for _, kinds := range [][]string{{"Kill"}, {"Cut", "Move"}, {"Host.Freeze"}} {
		weights := map[string]int{"*": 0}
		for _, k := range kinds {
			weights[k] = 3
		}
		inBubble(t, Config{Seed: 7, Weights: weights}, func(t *testing.T, c *Cluster) {
			first, second := c.Trouble(20*time.Second), c.Trouble(20*time.Second)
			require.NotEqual(t, first, second)
			for _, f := range slices.Concat(first, second) {
				require.Contains(t, kinds, f.Kind)
			}
		})
	}
}
