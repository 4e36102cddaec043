package model_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
)

// TestScriptsBehindAFailover: where one address leads to another server from now on, whose
// predecessor has become a replica and keeps its connections, a program that writes by
// scripts only is not sent to that one for ever: what a script may not write tells as much
// as a command's refusal.
func TestScriptsBehindAFailover(t *testing.T) {
	count := radix.NewEvalScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	script := func() radix.Action { return count.Cmd(nil, []string{"k"}, "1") }
	for name, action := range map[string]func() radix.Action{
		"shared": script,
		"lent": func() radix.Action {
			return radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, script()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := simnet.New(1)
				defer network.Close()
				c := model.New(model.Options{Primaries: 1, Replicas: 1, NoCluster: true})
				const addr = "10.1.1.1:6379"
				network.Listen(addr, c.Serve(c.Nodes()[0]))
				client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: network.Dialer("client")}, Standalone: true}.New(t.Context(), []string{addr})
				require.NoError(t, err)
				defer client.Close()
				require.NoError(t, client.Do(t.Context(), action()))
				time.Sleep(2 * time.Second)

				network.Listen(addr, c.Serve(c.Nodes()[1]))
				require.True(t, c.Failover(c.Nodes()[1], false))
				time.Sleep(time.Second)
				for range 3 { // one may be the first to know
					time.Sleep(time.Second)
					err = client.Do(t.Context(), action())
				}
				require.NoError(t, err)
			})
		})
	}
}
