package cluster_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

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
		"Dragonfly":            {"CLUSTER": dragonfly, "READWRITE": dragonfly},
		"an older Dragonfly":   {"CLUSTER": oldDragonfly, "READWRITE": oldDragonfly},
		"Dragonfly's cluster":  {"READWRITE": dragonfly, "CLUSTER MYID": bulk("0000000000000000000000000000000000000000")},
		"Kvrocks":              {"CLUSTER MYID": kvrocksMyID, "CLUSTER": kvrocks},
		"a cluster of Kvrocks": {"CLUSTER MYID": kvrocksMyID},
		"a cluster with IDs":   {"CLIENT": odd, "READWRITE": odd, "CLUSTER MYID": bulk("0000000000000000000000000000000000000000")},
		"nobody's cluster":     {"CLIENT": odd, "READWRITE": odd, "CLUSTER MYID": odd, "CLUSTER NODES": odd},
		"nobody's server":      {"CLIENT": odd, "READWRITE": odd, "CLUSTER MYID": odd, "CLUSTER": kvrocks, "ROLE": odd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.all = func(w io.Writer, cmd []string) (said bool) {
				text, ok := says[strings.ToUpper(strings.Join(cmd, " "))]
				if !ok {
					text, ok = says[strings.ToUpper(cmd[0])]
				}
				if ok {
					_, _ = io.WriteString(w, text)
				}
				return ok
			}
			f.nodes = func() string {
				return bulk("0000000000000000000000000000000000000000 " + f.addr() + "@1 myself,master - 0 0 0 connected 0-16383\n")
			}
			f.start()
			ctx := within(t, 10*time.Second)
			client, err := cluster.Config{}.New(ctx, []string{f.addr()})
			require.NoError(t, err)
			defer client.Close()
			require.NoError(t, client.Cmd(ctx, "INCR", "k").Err())
			require.NoError(t, client.Sync(ctx))
		})
	}
}

// TestUnlistedRefusalOfTheMap: a server that refuses CLUSTER SLOTS with a text that is in no table
// may do so for good.
func TestUnlistedRefusalOfTheMap(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.slots = func() string { return "-ERR not allowed here\r\n" }
	f.start()
	client := open(t, cluster.Config{Lazy: true}, []string{f.addr()})
	err := client.Sync(within(t, 5*time.Second))
	require.ErrorContains(t, err, "not allowed here")
	require.ErrorContains(t, err, "Config.Standalone")
}

// TestNewDoesNotWaitForOddTexts: a context without an end does not make New wait for a server that
// refuses CLUSTER SLOTS, or the handshake, for good. It waits for a few seconds.
func TestNewDoesNotWaitForOddTexts(t *testing.T) {
	const odd = "-ERR we do not do that here\r\n"
	for name, passes := range map[string]time.Duration{"for now": 3 * time.Second, "for good": time.Hour} {
		for _, command := range []string{"CLUSTER", "CLIENT"} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(string, []string) string { return odd }, nodeA)
				began := time.Now()
				w.handshake = func(cmd []string) string {
					if cmd[0] == command && (command == "CLUSTER" || cmd[1] == "SETNAME") && time.Since(began) < passes {
						return odd
					}
					return ""
				}
				config := cluster.Config{Dialer: lanes.Dialer{NetDial: w.dial, ClientName: "me"}}
				client, err := config.New(context.Background(), []string{nodeA})
				if name == "for now" {
					require.NoError(t, err)
					require.NoError(t, client.Close())
					return
				}
				require.ErrorContains(t, err, "we do not do that here")
				require.InDelta(t, 5, time.Since(began).Seconds(), 2)
			})
		}
	}
}
