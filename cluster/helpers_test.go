package cluster_test

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
)

var within = servers.Within

func open(t testing.TB, c cluster.Config, addrs []string) *cluster.Client {
	t.Helper()
	client, err := c.New(within(t, 10*time.Second), addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// closedPort returns an address at which nobody listens, and no other test will: a connection has it.
func closedPort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = conn.Close(), l.Close() })
	return conn.LocalAddr().String()
}

// until waits for an event; ctx is how long.
func until(t *testing.T, ctx context.Context, what string, happened func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !happened() {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("did not happen in time: %s", what)
		}
	}
}

// stat returns how often the node has run the command (a subcommand is
// name|sub), by its own count.
func stat(t *testing.T, ctx context.Context, n *servers.Node, command string) int {
	t.Helper()
	var info string
	require.NoError(t, n.Do(ctx, &info, "INFO", "commandstats"))
	_, after, found := strings.Cut(info, "cmdstat_"+command+":calls=")
	if !found {
		return 0
	}
	text, _, _ := strings.Cut(after, ",")
	calls, err := strconv.Atoi(text)
	require.NoError(t, err)
	return calls
}

// load is batches in flight on lanes, dedicated connections that have a user, and waiters.
type load struct{ InFlight, SlowInFlight, Dedicated, Waiters int }

func (l *load) add(p redislanes.PoolStats) {
	l.InFlight += p.InFlight()
	l.Waiters += p.Waiters
	l.Dedicated += p.InUse
	for _, n := range p.LaneInFlight {
		l.Dedicated -= min(n, 1)
	}
	for _, n := range p.SlowLaneInFlight {
		l.Dedicated -= min(n, 1)
		l.SlowInFlight += n
	}
}

// stats returns the sum over the nodes, which have laned pools.
func stats(c *cluster.Client) (sum load) {
	for _, n := range c.Stats().Nodes {
		sum.add(n.Pool)
	}
	return sum
}

// logged collects what a client logs.
type logged struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// timed performs the action, for which it has three seconds of the bubble's time, and returns how long that took.
func timed(t *testing.T, client *cluster.Client, action radix.Action) (took time.Duration, err error) {
	t.Helper()
	began := time.Now()
	err = client.Do(soon(t, 3*time.Second), action)
	return time.Since(began), err
}

// requireInt requires that the reply is the number.
func requireInt(t *testing.T, want int64, reply pipeline.Reply) {
	t.Helper()
	n, err := reply.Int()
	require.NoError(t, err)
	require.Equal(t, want, n)
}

// dedicatedCmd is a command on a dedicated connection.
func dedicatedCmd(key, name string, args ...string) radix.Action {
	return radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, radix.Cmd(nil, name, args...)) })
}

// radixPipeline is a radix.Pipeline of the actions.
func radixPipeline(actions ...radix.Action) *radix.Pipeline {
	p := radix.NewPipeline()
	for _, action := range actions {
		p.Append(action)
	}
	return p
}

// primaryAt returns the client of the primary at the address.
func primaryAt(t *testing.T, client *cluster.Client, addr string) radix.Client {
	t.Helper()
	sets, err := client.Clients()
	require.NoError(t, err)
	return sets[addr].Primary
}

// elsewhere returns a node to which the slot can move.
func elsewhere(t *testing.T, ctx context.Context, real *servers.Cluster, slot uint16) *servers.Node {
	t.Helper()
	from, err := real.Owner(ctx, slot)
	require.NoError(t, err)
	if from == real.Nodes()[0] {
		return real.Nodes()[1]
	}
	return real.Nodes()[0]
}

// anys returns words as arguments of Cmd.
func anys(words []string) []any {
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	return args
}
