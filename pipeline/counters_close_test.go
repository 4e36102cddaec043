package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// patientTower returns a tower of one node, whose client waits for a minute for a silent node.
func patientTower(t *testing.T) *tower {
	w := newTower(t, 1, pipeline.CountersConfig{})
	patient := pool.Laned{Lanes: 1, Options: pool.Options{StallTimeout: time.Minute}}
	client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: w.net.Dialer("client")}, Pool: patient}, []string{w.Nodes()[0].Addr()})
	w.counters = pipeline.CountersConfig{}.New(client)
	require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "GET", "k"))) // it is connected
	return w
}

// TestClose: Close waits for what is under way, for five seconds at most. Then hits that travel together have
// an unknown outcome.
func TestClose(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]time.Duration{"waits": 4 * time.Second, "not for ever": 20 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const most = 5 * time.Second
				w := patientTower(t)
				first, flow := w.hold(t, &pipeline.Hit{Key: "k"})
				hits := []pipeline.Hit{{Key: "k", By: 10}, {Key: "k", By: 20}}
				var others []chan error
				for i := range hits {
					others = append(others, w.hit(t.Context(), &hits[i]))
				}
				require.Equal(t, 2, w.counters.Waiting("k"))
				arrive := w.stall(0, toServer)
				flow()
				require.NoError(t, <-first)
				synctest.Wait()
				began, closed := time.Now(), make(chan error, 1)
				go func() { closed <- w.counters.Close() }()
				synctest.Wait()
				require.ErrorIs(t, w.counters.Hit(t.Context(), nil), redislanes.ErrClosed)
				time.AfterFunc(silent, arrive)
				require.NoError(t, <-closed)
				require.Equal(t, min(silent, most), time.Since(began))
				for _, done := range others {
					if err := <-done; silent > most {
						require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
					} else {
						require.NoError(t, err)
					}
				}
				if silent <= most {
					require.EqualValues(t, 31, hits[1].Total)
				}
				time.Sleep(silent)
			})
		})
	}
}
