package metrics_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
	"github.com/redislanes/redislanes/redistest/sim"
)

const (
	canaryUser     = "canary-user"
	canaryPassword = "canary-password"
	canaryKey      = "canary-key"
	canaryValue    = "canary-value"
)

func newClient(t *testing.T, servers *redistest.Emulated, p pool.Config) *cluster.Client {
	for _, node := range servers.Nodes() {
		node.RequireUserAuth(canaryUser, canaryPassword)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	client, err := cluster.Config{
		Pool: p, Dialer: lanes.Dialer{Username: canaryUser, Password: canaryPassword},
		RefreshEvery: -1,
	}.New(ctx, servers.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func TestClient(t *testing.T) {
	for kind, p := range map[string]pool.Config{
		"laned":    pool.Laned{Lanes: 2},
		"fixed":    pool.Fixed{Size: 2},
		"adaptive": pool.Adaptive{Max: 2},
	} {
		t.Run(kind, func(t *testing.T) {
			servers := redistest.StartEmulated(t, 3)
			client := newClient(t, servers, p)
			reg := prometheus.NewPedanticRegistry()
			require.NoError(t, reg.Register(metrics.NewCollector(client)))
			scrapeWhile(t, reg, func() {
				for i := range 200 {
					require.NoError(t, set(t, client, fmt.Sprint(canaryKey, i)))
				}
			})
			problems, err := testutil.GatherAndLint(reg)
			require.NoError(t, err)
			require.Empty(t, problems)

			text := exposition(t, metrics.NewCollector(client))
			for _, addr := range servers.Addrs() {
				series := fmt.Sprintf("{kind=%q,node=%q,", kind, addr)
				require.Contains(t, text, "redislanes_pool_max_connections"+series+`role="primary"} 2`)
				require.Contains(t, text, "redislanes_pool_in_flight_batches"+series+`role="primary"} 0`)
				require.Contains(t, text, "redislanes_dials_total"+series+`result="error",role="primary"} 0`)
			}
			require.Contains(t, text, "redislanes_slots_owned 16384")
			require.Contains(t, text, `redislanes_refreshes_total{result="success"} 1`)
			require.NotContains(t, text, "canary")

			require.NoError(t, client.Close())
			require.NotRegexp(t, `redislanes_connections_closed_total\{.*reason="client".*\} 0`, exposition(t, metrics.NewCollector(client)))
		})
	}
}

func TestClientRedirectsAndRetries(t *testing.T) {
	redis := sim.Start(t, sim.Config{Primaries: 2, Replicas: -1})
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}, RefreshEvery: -1}.New(t.Context(), redis.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	owner, target := redis.Owner(canaryKey), redis.Nodes()[0]
	if target == owner {
		target = redis.Nodes()[1]
	}

	finish := redis.StartMove(canaryKey, target)
	require.NoError(t, set(t, client, canaryKey))
	require.Contains(t, exposition(t, metrics.NewCollector(client)), `redislanes_redirects_total{kind="ask"} 1`)

	finish()
	require.NoError(t, set(t, client, canaryKey))
	require.Contains(t, exposition(t, metrics.NewCollector(client)), `redislanes_redirects_total{kind="moved"} 1`)

	target.Refuse("set", "TRYAGAIN canary-server-text", 1)
	require.NoError(t, set(t, client, canaryKey))
	text := exposition(t, metrics.NewCollector(client))
	require.Contains(t, text, `redislanes_retries_total{cause="refused"} 1`)
	require.Contains(t, text, `redislanes_error_replies_total{code="TRYAGAIN",kind="laned",node="`+target.Addr()+`",role="primary"} 1`)
	require.Contains(t, text, `redislanes_error_replies_total{code="ASK",kind="laned",node="`+owner.Addr()+`",role="primary"} 1`)
	require.NotContains(t, text, "canary")
}

func set(t *testing.T, client *cluster.Client, key string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return client.Do(ctx, radix.Cmd(nil, "SET", key, canaryValue))
}

// scrapeWhile scrapes, again and again, until f has returned.
func scrapeWhile(t *testing.T, reg *prometheus.Registry, f func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			if _, err := reg.Gather(); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	defer func() { close(done); <-stopped }()
	f()
}
