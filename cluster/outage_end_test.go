package cluster_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// TestReadsDoNotHideWrites: a node that reads and does not write refuses writes all the time, over shared
// and dedicated connections, whatever else it does. The end of the outage begins a new retry window.
func TestReadsDoNotHideWrites(t *testing.T) {
	for name, probe := range map[string][]string{"shared": {"INCR", "k"}, "dedicated": {"BLPOP", "k", "1"}} {
		for _, text := range []string{"NOREPLICAS Not enough good replicas to write.", "READONLY You can't write against a read only replica."} {
			t.Run(name+" "+strings.Fields(text)[0], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var ill atomic.Bool
					w := newWorld(func(_ string, cmd []string) string {
						if cmd[0] == probe[0] && ill.Load() {
							return "-" + text + "\r\n"
						}
						return one
					}, nodeA)
					client := w.open(t, cluster.Config{RefreshEvery: -1})
					try := func() (time.Duration, error) { return timed(t, client, radix.Cmd(nil, probe[0], probe[1:]...)) }
					for range 2 {
						ill.Store(true)
						took, err := try()
						require.ErrorIs(t, err, redislanes.ErrRefused)
						require.InDelta(t, 1, took.Seconds(), 0.1)
						for _, other := range []radix.Action{
							radix.Cmd(nil, "GET", "k"), radix.Cmd(nil, "TIME"), dedicatedCmd("k", "GET", "k"),
							radix.Cmd(nil, "EVAL", "return 1", "1", "k"), radix.Cmd(nil, "SPUBLISH", "k", "hello"),
						} {
							require.NoError(t, client.Do(t.Context(), other))
							took, err = try()
							require.ErrorIs(t, err, redislanes.ErrRefused)
							require.Less(t, took, 5*time.Millisecond)
						}
						ill.Store(false)
						_, err = try()
						require.NoError(t, err)
					}
				})
			})
		}
	}
}
