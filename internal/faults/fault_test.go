package faults

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

// A fault is what happens to a pair of primary and replica.
type fault struct {
	name     string
	lossless bool // Redis itself loses nothing by it
	happen   func(t *testing.T, ctx context.Context, primary, replica *servers.Node)
}

func command(name string, args ...string) func(*testing.T, context.Context, *servers.Node, *servers.Node) {
	return func(t *testing.T, ctx context.Context, primary, _ *servers.Node) {
		require.NoError(t, primary.Do(ctx, nil, name, args...))
	}
}

var faults = []fault{
	{"DEBUG SLEEP", true, command("DEBUG", "SLEEP", "0.4")},
	{"CLIENT PAUSE ALL", true, command("CLIENT", "PAUSE", "400", "ALL")},
	{"CLIENT PAUSE WRITE", true, command("CLIENT", "PAUSE", "400", "WRITE")},
	{"CLIENT KILL", true, func(t *testing.T, ctx context.Context, primary, _ *servers.Node) {
		for range 20 {
			require.NoError(t, primary.Do(ctx, nil, "CLIENT", "KILL", "TYPE", "normal"))
		}
	}},
	{"SIGSTOP and SIGCONT", true, func(t *testing.T, ctx context.Context, primary, _ *servers.Node) {
		require.NoError(t, primary.Pause())
		pause, cancel := context.WithTimeout(ctx, 400*time.Millisecond) // less than the node timeout
		defer cancel()
		<-pause.Done()
		require.NoError(t, primary.Resume())
	}},
	{"CLUSTER FAILOVER", true, takeOver("")},
	{"CLUSTER FAILOVER FORCE", false, takeOver("FORCE")},
	{"CLUSTER FAILOVER TAKEOVER", false, takeOver("TAKEOVER")},
}

func takeOver(mode string) func(*testing.T, context.Context, *servers.Node, *servers.Node) {
	return func(t *testing.T, ctx context.Context, _, replica *servers.Node) {
		require.NoError(t, replica.Failover(ctx, mode))
		until(t, ctx, "the replica has taken over", func() bool {
			ok, err := replica.IsPrimary(ctx)
			return err == nil && ok
		})
	}
}

// TestTroubleUnderLoad: 16 callers count with a deadline of 100 ms while one fault follows
// the other: DEBUG SLEEP, CLIENT PAUSE, CLIENT KILL, SIGSTOP, failovers. Each call ends in
// time, the totals are right, and everything is served again.
func TestTroubleUnderLoad(t *testing.T) {
	parallel(t)
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1, NodeTimeout: 2 * time.Second})
	client := open(t, cluster.Config{}, real.Addrs())
	for i, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			ctx := servers.Within(t, 30*time.Second)
			first := primary(t, real, i%3)
			second := real.Nodes()[i%3]
			if second == first {
				second = real.Nodes()[i%3+3]
			}
			l := startLoad(client, 16, redistest.KeysInSlots(30, fault.name), 100*time.Millisecond)
			defer l.end()
			until(t, ctx, "the load runs", func() bool { return sum(l.acknowledged) > 1000 })
			fault.happen(t, ctx, first, second)
			require.NoError(t, real.WaitHealthy(ctx))
			served(t, ctx, l)
			l.end()
			t.Logf("%v; latest %v after its deadline", l, l.worst().Round(10*time.Microsecond))
			l.inTime(t)
			l.verify(t, client, fault.lossless)
		})
	}
}

// served waits until each key has been counted again, and returns how long that
// took.
func served(t *testing.T, ctx context.Context, l *load) time.Duration {
	t.Helper()
	began := time.Now()
	before := make([]int64, len(l.keys))
	for i := range before {
		before[i] = l.acknowledged[i].Load()
	}
	until(t, ctx, "each key is counted again", func() bool {
		for i := range before {
			if l.acknowledged[i].Load() == before[i] {
				return false
			}
		}
		return true
	})
	return time.Since(began)
}

// TestKilledPrimaryFailsNoCall: with WhileContextLasts, a killed primary costs only the
// commands that were in flight.
func TestKilledPrimaryFailsNoCall(t *testing.T) {
	parallel(t)
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	client := open(t, cluster.Config{RetryWindow: cluster.WhileContextLasts}, real.Addrs())
	ctx := servers.Within(t, 60*time.Second)
	l := startLoad(client, 8, redistest.KeysInSlots(30, "waiting"), 30*time.Second)
	defer l.end()
	until(t, ctx, "the load runs", func() bool { return sum(l.acknowledged) > 1000 })
	require.NoError(t, real.Nodes()[0].Kill())
	promoted(t, ctx, real.Nodes()[3])
	served(t, ctx, l)
	l.end()
	t.Log(l, client.Stats().NotSent, "sent again")
	require.Zero(t, sum(l.undone))
	require.NotZero(t, client.Stats().NotSent)
	l.verify(t, client, false)
}

// TestLostPrimary: a primary is killed, or freezes, under load. Nothing is counted twice, and its slots
// are served within a second of the replica's promotion.
func TestLostPrimary(t *testing.T) {
	for name, lose := range map[string]func(*servers.Node) error{"killed": (*servers.Node).Kill, "frozen": (*servers.Node).Pause} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
			client := open(t, cluster.Config{}, real.Addrs())
			ctx := servers.Within(t, 60*time.Second)
			l := startLoad(client, 32, redistest.KeysInSlots(30, name), 100*time.Millisecond)
			defer l.end()
			until(t, ctx, "the load runs", func() bool { return sum(l.acknowledged) > 1000 })
			require.NoError(t, lose(real.Nodes()[0]))
			promoted(t, ctx, real.Nodes()[3])
			took := served(t, ctx, l)
			l.end()
			t.Logf("served again %v after the promotion; %v; latest %v after its deadline", took.Round(time.Millisecond), l, l.worst().Round(10*time.Microsecond))
			require.Less(t, took, bound(time.Second, 5*time.Second))
			l.inTime(t)
			l.verify(t, client, false)
			require.Zero(t, client.Stats().Repeated)
		})
	}
}
