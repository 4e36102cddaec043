package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redislanes/redislanes/internal/setting"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// Config says what a cluster is made of. The zero value is three primaries with a
// replica each, 250 µs away. Durations are at least a microsecond.
type Config struct {
	// Seed decides everything that is random: node IDs, jitter, and what Trouble does.
	Seed uint64
	// Primaries is how many there are, 3 by default and 100 at most. They share the slots evenly.
	Primaries int
	// Replicas is how many replicas each primary has, 1 by default and 10 at most; -1 stands for none.
	Replicas int
	// Sentinels is how many Sentinels there are, 10 at most. If there are any, the servers have no
	// cluster mode, there is one primary, and Sentinels name it SentinelName.
	Sentinels int
	// Latency is how long bytes travel, in each direction; 250 µs by default. A random
	// time below Jitter comes on top.
	Latency, Jitter time.Duration
	// ReplicationLag is how long replicas take to apply writes, 2 ms by default.
	ReplicationLag time.Duration
	// GossipLag is how long nodes take to hear of changes that they have no part in,
	// 100 ms by default.
	GossipLag time.Duration
	// Server says which server's commands and replies the nodes have: "" for Redis 7.0, "redis-8.10" or
	// "valkey-9". Its slots move as that server moves them: one key after the other in 7.0, all at once in the others.
	Server string
	// Listen is where the first node listens for TCP connections, for example "127.0.0.1:7000". The other nodes, then the
	// Sentinels, have the ports behind it. With port 0 all have free ports. Empty: programs use [Cluster.Dial].
	// Connections by TCP have the same faults as others, in real time. They come from the [Host] with the name of their IP address.
	Listen string
	// Password is the password of the default user; empty: none.
	Password string
	// Weights changes how often Trouble makes faults, by Fault.Kind; 0 leaves a kind out. Most kinds have 1 or 2. "*"
	// stands for all kinds that are not named: {"*": 0, "Kill": 1} makes kills only.
	Weights map[string]int
	// Executed is told each command with keys that a primary has run without an error,
	// in the order in which they ran: those in a script before the script itself. It must not call
	// methods of the cluster.
	Executed func(Execution)
}

// SentinelName is the name under which Sentinels know the primary.
const SentinelName = model.SentinelPrimary

// An Execution is one run of a command.
type Execution struct {
	At    time.Time
	Node  string   // its address
	Args  []string // with the name
	Reply string   // as RESP
}

func (c Config) withDefaults() Config {
	c.Latency = cmp.Or(c.Latency, 250*time.Microsecond)
	c.ReplicationLag = cmp.Or(c.ReplicationLag, 2*time.Millisecond)
	c.GossipLag = cmp.Or(c.GossipLag, 100*time.Millisecond)
	c.Replicas = max(cmp.Or(c.Replicas, 1), 0)
	if c.Primaries == 0 {
		c.Primaries = 3
		if c.Sentinels > 0 {
			c.Primaries = 1
		}
	}
	return c
}

func (c Config) validate() error {
	switch {
	case !model.KnowsServer(c.Server):
		return fmt.Errorf("sim: Config.Server = %q: must be empty, \"redis-8.10\" or \"valkey-9\"", c.Server)
	case c.Primaries < 0 || c.Primaries > 100:
		return fmt.Errorf("sim: Config.Primaries = %d: must be 0 to 100", c.Primaries)
	case c.Replicas < -1 || c.Replicas > 10:
		return fmt.Errorf("sim: Config.Replicas = %d: must be -1 to 10", c.Replicas)
	case c.Sentinels < 0 || c.Sentinels > 10:
		return fmt.Errorf("sim: Config.Sentinels = %d: must be 0 to 10", c.Sentinels)
	case c.Sentinels > 0 && c.Primaries > 1:
		return fmt.Errorf("sim: Config.Primaries = %d: must be 0 or 1 with Sentinels", c.Primaries)
	}
	for name, weight := range c.Weights {
		switch {
		case kindOf(name) == nil && name != "*":
			return fmt.Errorf("sim: Config.Weights[%q]: there is no such kind of fault", name)
		case weight < 0 || weight > 1000:
			return fmt.Errorf("sim: Config.Weights[%q] = %d: must be 0 to 1000", name, weight)
		}
	}
	if len(c.tickets(false)) == 0 {
		return errors.New("sim: Config.Weights leaves out all kinds of faults")
	}
	return errors.Join(
		setting.Duration("sim: Config.Latency", c.Latency, time.Microsecond, 0, ""),
		setting.Duration("sim: Config.Jitter", c.Jitter, time.Microsecond, 0, ""),
		setting.Duration("sim: Config.ReplicationLag", c.ReplicationLag, time.Microsecond, 0, ""),
		setting.Duration("sim: Config.GossipLag", c.GossipLag, time.Microsecond, 0, ""),
	)
}

// Start is [Launch] for a test, which fails if the config is invalid and closes the
// cluster when it ends. Close clients before that: call tb.Cleanup
// for them after Start, since the last clean-up that is registered runs first.
func Start(tb testing.TB, config Config) *Cluster {
	tb.Helper()
	c, err := Launch(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// Launch starts a cluster. [Cluster.Close] ends it.
func Launch(config Config) (*Cluster, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	launched()
	config = config.withDefaults()
	c := &Cluster{config: config, began: time.Now(), net: simnet.New(config.Seed), hosts: make(map[string]*Host)}
	nodes := config.Primaries * (1 + config.Replicas)
	if config.Listen != "" {
		var err error
		if c.doors, err = listen(config.Listen, nodes+config.Sentinels); err != nil {
			return nil, err
		}
	}
	c.model = model.New(c.options(nodes))
	c.net.Impose("", "", simnet.Conditions{Latency: config.Latency, Jitter: config.Jitter})
	c.model.ReplicationLag(config.ReplicationLag)
	c.model.GossipLag(config.GossipLag)
	for _, n := range c.model.Nodes() {
		if config.Password != "" {
			n.RequirePass("", config.Password, true)
		}
		node := &Node{c: c, model: n}
		node.listen()
		c.nodes = append(c.nodes, node)
	}
	for _, s := range c.model.Sentinels() {
		c.net.Listen(s.Addr(), c.model.Serve(s))
	}
	c.serving, c.stop = context.WithCancel(context.Background())
	for _, l := range c.doors {
		c.tasks.Go(func() { c.admit(l) })
	}
	return c, nil
}

// options are those of the model, with so many nodes.
func (c *Cluster) options(nodes int) model.Options {
	o := model.Options{Seed: c.config.Seed, Server: c.config.Server, Primaries: c.config.Primaries, Replicas: c.config.Replicas, NoCluster: c.config.Sentinels > 0}
	addr := func(i int) string { return c.doors[i].Addr().String() }
	if len(c.doors) > 0 {
		o.Addr = addr
	} else {
		addr = func(i int) string { return fmt.Sprintf("10.0.1.%d:26379", i-nodes+1) }
	}
	for i := range c.config.Sentinels {
		o.Sentinels = append(o.Sentinels, addr(nodes+i))
	}
	if f := c.config.Executed; f != nil {
		o.Executed = func(e model.Execution) { executed(e, f) }
	}
	return o
}

func executed(e model.Execution, f func(Execution)) {
	if e.Replica || len(e.Reply) == 0 || e.Reply[0] == '-' {
		return
	}
	x := Execution{At: e.At, Node: e.Node.Addr(), Reply: string(e.Reply)}
	for _, arg := range e.Args {
		x.Args = append(x.Args, string(arg))
	}
	f(x)
}
