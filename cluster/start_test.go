package cluster_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/engine"
)

// TestStartWithAnEndedContext: the error blames the context and not a server.
func TestStartWithAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cluster.Config{}.New(ctx, []string{"127.0.0.1:1"})
	require.EqualError(t, err, "cluster: New: the context had ended before New was called: context canceled")
	client, err := cluster.Config{Lazy: true}.New(ctx, []string{"127.0.0.1:1"})
	require.NoError(t, err)
	require.NoError(t, client.Close())
}

// TestAddressesWithPasswords: what is no host:port may hold a password.
func TestAddressesWithPasswords(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{
		"redis://:canary@h:1", "redis://u:canary@h", "u:canary@h:1", "h:1/0?password=canary", "redis://h/canary", "h:1?canary", "h:1#canary",
	} {
		_, err := cluster.Config{}.New(t.Context(), []string{"h:1", addr})
		require.ErrorContains(t, err, "addrs[1]")
		require.ErrorContains(t, err, "Dialer.Password")
		require.NotContains(t, err.Error(), "canary", addr)
	}
	_, err := cluster.Config{}.New(t.Context(), []string{"h 1:1"})
	require.ErrorContains(t, err, "blank")
	require.ErrorContains(t, err, `"h 1:1"`)
	_, err = cluster.Config{}.New(t.Context(), []string{"localhost"})
	require.EqualError(t, err, `cluster: addrs[0] = "localhost": want host:port: missing port in address`)

	f := newFake(t)
	f.start()
	addrs := []string{" " + f.addr() + "\n"}
	client := open(t, cluster.Config{}, addrs)
	require.Equal(t, f.addr(), client.Addr().String())
	require.Equal(t, " "+f.addr()+"\n", addrs[0], "the caller's memory")
}

// TestLoadingServerIsWaitedFor and so is one with too many clients, until the
// context ends.
func TestLoadingServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var left atomic.Int32
	left.Store(3)
	f.slots = func() string {
		if left.Add(-1) >= 0 {
			return "-LOADING Redis is loading the dataset in memory\r\n"
		}
		return slotMap(f.addr())
	}
	f.start()
	open(t, cluster.Config{}, []string{f.addr()})

	const ever = 1 << 30
	left.Store(ever)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	addrs := []string{f.addr(), closedPort(t)}
	go func() {
		_, err := cluster.Config{}.New(ctx, addrs)
		done <- err
	}()
	until(t, within(t, time.Minute), "it is asked again", func() bool { return left.Load() < ever-1 })
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "LOADING")
	var unreachable *cause.Unreachable
	require.ErrorAs(t, err, &unreachable)
}

// TestStartSaysWhatIsWrong: servers that answer, but not with a map.
func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		slots string
		want  []string
	}{
		"NOAUTH":   {"-NOAUTH Authentication required.\r\n", []string{"NOAUTH", "Dialer.Password"}},
		"NOPERM":   {"-NOPERM this user has no permissions to run the 'cluster|slots' command\r\n", []string{"NOPERM", "+cluster|slots"}},
		"unknown":  {"-ERR unknown command 'CLUSTER'\r\n", []string{"unknown command", "Config.Standalone"}},
		"no slots": {"*0\r\n", []string{"no slots"}},
		"garbage":  {"*1\r\n:1\r\n", []string{"CLUSTER SLOTS reply"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.slots = func() string { return test.slots }
			f.start()
			_, err := cluster.Config{}.New(within(t, 5*time.Second), []string{f.addr()})
			for _, part := range append(test.want, f.addr()) {
				require.ErrorContains(t, err, part)
			}
		})
	}
	f := newFake(t)
	f.hijack, f.answer = "CLIENT", say("HTTP/1.1 400 Bad Request\r\n\r\n")
	f.start()
	_, err := cluster.Config{}.New(within(t, 5*time.Second), []string{f.addr()})
	require.ErrorContains(t, err, "no Redis server")
}

// TestClientsThatWereNotMade: nil and zero clients, nil contexts and actions are errors.
func TestClientsThatWereNotMade(t *testing.T) {
	t.Parallel()
	ctx := within(t, 5*time.Second)
	const made = "not made with New or Config.New: use one that they returned without an error"
	ping := radix.Cmd(nil, "PING")
	for _, c := range []*cluster.Client{nil, {}} {
		require.ErrorContains(t, c.Do(ctx, ping), made)
		require.ErrorIs(t, c.DoSecondary(ctx, ping), redislanes.ErrNotSent)
		require.ErrorContains(t, c.Sync(ctx), made)
		require.ErrorContains(t, (*engine.Client)(c).Exec(ctx, new(engine.Request), engine.How{}), made)
		_, err := c.Clients()
		require.ErrorContains(t, err, made)
		require.ErrorContains(t, c.Close(), made)
		require.NotPanics(t, func() { _ = fmt.Sprint(c) })
		require.Zero(t, c.Stats())
		for name, call := range map[string]func(){
			"Addr": func() { c.Addr() }, "Primary": func() { c.Primary(0) },
		} {
			require.PanicsWithValue(t, "cluster: the Client was "+made, call, name)
		}
	}
	f := newFake(t)
	f.start()
	client := open(t, cluster.Config{}, []string{f.addr()})
	const isNil = "context is nil"
	var none context.Context
	require.ErrorContains(t, client.Do(none, ping), isNil)
	require.ErrorContains(t, client.DoSecondary(none, ping), isNil)
	require.ErrorContains(t, client.Sync(none), isNil)
	require.ErrorContains(t, (*engine.Client)(client).Exec(none, new(engine.Request), engine.How{}), isNil)
	_, err := cluster.Config{}.New(none, []string{f.addr()})
	require.ErrorContains(t, err, isNil)
	require.ErrorContains(t, client.Do(ctx, nil), "action is nil")
}

// TestServersWithTextsOfTheirOwn: what Dragonfly and Kvrocks say to the client's questions, by
// their sources, and what is in no table. Nothing of it passes, so New waited for it until its
// context ended.
func TestServersWithTextsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const (
		dragonfly    = "-ERR Cluster is disabled. Enabled via passing --cluster_mode=emulated|yes\r\n"
		oldDragonfly = "-ERR Cluster is disabled. Use --cluster_mode=yes to enable.\r\n"
		kvrocks      = "-ERR Cluster mode is not enabled\r\n"
		kvrocksMyID  = "-ERR CLUSTER command, CLUSTER INFO|NODES|SLOTS|KEYSLOT|RESET|REPLICAS\r\n"
		odd          = "-ERR we do not do that here\r\n"
	)
	for name, says := range map[string]map[string]string{
		"Dragonfly":            {"CLUSTER": dragonfly},
		"an older Dragonfly":   {"CLUSTER": oldDragonfly},
		"Kvrocks":              {"CLUSTER MYID": kvrocksMyID, "CLUSTER": kvrocks},
		"a cluster of Kvrocks": {"CLUSTER MYID": kvrocksMyID},
		"a cluster with IDs":   {"CLIENT": odd, "CLUSTER MYID": "its own"},
		"nobody's cluster":     {"CLIENT": odd, "CLUSTER MYID": odd, "CLUSTER NODES": odd},
		"nobody's server":      {"CLIENT": odd, "CLUSTER MYID": odd, "CLUSTER": kvrocks, "ROLE": odd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.all = func(w io.Writer, cmd []string) (said bool) {
				text, ok := says[strings.ToUpper(strings.Join(cmd, " "))]
				if !ok {
					text, ok = says[strings.ToUpper(cmd[0])]
				}
				if text == "its own" {
					text = bulk(idOf(f.addr()))
				}
				if ok {
					_, _ = io.WriteString(w, text)
				}
				return ok
			}
			f.nodes = func() string {
				return bulk(idOf(f.addr()) + " " + f.addr() + "@1 myself,master - 0 0 0 connected 0-16383\n")
			}
			f.start()
			ctx := within(t, 10*time.Second)
			client := open(t, cluster.Config{}, []string{f.addr()})
			require.NoError(t, client.Cmd(ctx, "INCR", "k").Err())
			require.NoError(t, client.Sync(ctx))
		})
	}
}
