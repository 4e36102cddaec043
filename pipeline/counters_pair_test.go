package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
)

// TestScriptSharesItsCountersFate: the trouble of scripts is not that of INCRBY, and may
// have begun later or earlier. The script that stands in for EXPIRE NX goes again if, and
// only if, its INCRBY does.
func TestScriptSharesItsCountersFate(t *testing.T) {
	for name, first := range map[string]radix.Action{
		"writes are in trouble for longer":  radix.Cmd(nil, "INCR", "other"),
		"scripts are in trouble for longer": radix.Cmd(nil, "EVAL", "return 1", "1", "other"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := simnet.New(1)
				defer network.Close()
				server := model.New(model.Options{Primaries: 1, WithoutNX: true})
				node := server.Nodes()[0]
				network.Listen(node.Addr(), server.Serve(node))
				client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: network.Dialer("client")}}, []string{node.Addr()})
				counters := pipeline.NewCounters(client, pipeline.CountersConfig{})
				defer counters.Close()
				hit := func(key string) error {
					return counters.Hit(within(t, 5*time.Second), []pipeline.Hit{{Key: key, By: 1, TTL: time.Minute}})
				}
				require.NoError(t, hit("first"), "finds out that the server knows no NX")

				node.Loading(1500 * time.Millisecond)
				require.ErrorContains(t, client.Do(within(t, 100*time.Millisecond), first), "LOADING")
				time.Sleep(1100 * time.Millisecond)
				began := time.Now()
				if err := hit("k"); name == "scripts are in trouble for longer" {
					require.NoError(t, err)
					require.Zero(t, counters.Debts())
					return
				} else {
					require.ErrorContains(t, err, "LOADING")
				}
				require.Less(t, time.Since(began), 50*time.Millisecond)
			})
		})
	}
}
