package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// rows are the programs of the table, by the name in its last column.
var rows = []struct {
	name string
	run  func(*program)
}{
	{"receivers", receivers},
	{"arguments", arguments},
	{"maybe", maybe},
	{"tuple", tuple},
	{"pipeline", inPipeline},
	{"pipeline-transaction", transactionInPipeline},
	{"with-conn", withConn},
	{"scripts", scripts},
	{"script-errors", scriptErrors},
	{"errors", serverErrors},
	{"actions", customActions},
	{"scan-all", scanAll},
	{"scan-one", scanOne},
	{"streams", streams},
	{"pubsub-dial", pubSubDial},
	{"pubsub-sharded", pubSubSharded},
	{"clients", clients},
	{"topology", topology},
	{"blocking", blocking},
	{"contexts", contexts},
	{"redirects", redirects}, // moves a slot
	{"close", afterClose},    // closes the client
}

// A program runs twice: over a client that radix's constructor returned, and over ours.
type program struct {
	*testing.T
	ctx      context.Context
	servers  *servers.Cluster
	protocol int
	open     func() radix.MultiClient
	client   radix.MultiClient
	ours     bool
	seen     []string
}

// renew opens another client. A reply that does not fit its receiver may cost radix's
// the reply behind it, and whatever waits for that one hangs.
func (p *program) renew() {
	_ = p.client.Close()
	p.client = p.open()
}

// saw notes what must be the same over both clients.
func (p *program) saw(what string, values ...any) {
	p.seen = append(p.seen, strings.TrimSuffix(fmt.Sprintln(append([]any{what + ":"}, values...)...), "\n"))
}

// differs notes a difference that the table states.
func (p *program) differs(what, got, overRadix, overOurs string) {
	p.Helper()
	want := overRadix
	if p.ours {
		want = overOurs
	}
	require.Equal(p, want, got, what)
}

// do performs the action, which must succeed.
func (p *program) do(action radix.Action) {
	p.Helper()
	require.NoError(p, p.client.Do(p.ctx, action))
}

// told is what a program learns from an error: that of the server, as errors.As finds
// it, or which end of a context it was.
func told(err error) string {
	var said resp3.SimpleError
	usable := ""
	if errors.As(err, new(radixresp.ErrConnUsable)) {
		usable = ", the connection is usable"
	}
	switch {
	case err == nil:
		return "no error"
	case errors.As(err, &said):
		return said.S
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded" + usable
	case errors.Is(err, context.Canceled):
		return "canceled" + usable
	}
	return "another error"
}

func openRadix(t *testing.T, addrs []string, protocol int) radix.MultiClient {
	dialer := closing(t, radix.Dialer{Protocol: fmt.Sprint(protocol)}, true)
	client, err := radix.ClusterConfig{PoolConfig: radix.PoolConfig{Dialer: dialer}}.New(servers.Within(t, 10*time.Second), addrs)
	require.NoError(t, err)
	return client
}

// closing is the dialer, but for what it dials, which is closed at the test's end at the
// latest: radix's pools forget connections that they make while they are closed.
func closing(t *testing.T, d radix.Dialer, readOnly bool) radix.Dialer {
	var mu sync.Mutex // guards conns
	var conns []radix.Conn
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	return radix.Dialer{CustomConn: func(ctx context.Context, network, addr string) (radix.Conn, error) {
		conn, err := d.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		conns = append(conns, conn)
		mu.Unlock()
		if readOnly {
			err = conn.Do(ctx, radix.Cmd(nil, "READONLY"))
		}
		return conn, err
	}}
}

func openOurs(t *testing.T, addrs []string, protocol int) radix.MultiClient {
	client, err := cluster.Config{Dialer: lanes.Dialer{Protocol: protocol}}.New(servers.Within(t, 10*time.Second), addrs)
	require.NoError(t, err)
	return client
}

// TestSame runs each program over both clients, with each protocol.
func TestSame(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	for _, protocol := range []int{2, 3} {
		for _, row := range rows {
			t.Run(fmt.Sprint(row.name, "/", protocol), func(t *testing.T) {
				run := func(open func(*testing.T, []string, int) radix.MultiClient, ours bool) []string {
					p := &program{T: t, ctx: servers.Within(t, 15*time.Second), servers: real, protocol: protocol, ours: ours}
					p.open = func() radix.MultiClient { return open(t, real.Addrs(), protocol) }
					p.client = p.open()
					defer func() { _ = p.client.Close() }()
					p.flush()
					row.run(p)
					return p.seen
				}
				require.Equal(t, run(openRadix, false), run(openOurs, true))
			})
		}
	}
}

// flush removes the keys of the program before.
func (p *program) flush() {
	sets, err := p.client.Clients()
	require.NoError(p, err)
	for _, set := range sets {
		require.NoError(p, set.Primary.Do(p.ctx, radix.Cmd(nil, "FLUSHALL")))
	}
}
