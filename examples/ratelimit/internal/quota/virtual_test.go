package quota_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/redistest/sim"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

const delivery = 1500 * time.Millisecond

// An instance is one of the service. It runs in a bubble of synctest, without sockets.
type instance struct {
	*quota.Server
	redis *cluster.Client
	rules string // the file
	store *rules.Store
	log   bytes.Buffer
	end   func() // as the service does

	stopping context.Context // of streams
	drain    context.CancelFunc
}

func start(t *testing.T, redis *sim.Cluster, text string) *instance {
	t.Helper()
	i := &instance{rules: filepath.Join(t.TempDir(), "rules.yaml")}
	require.NoError(t, os.WriteFile(i.rules, []byte(text), 0o600))
	var err error
	i.redis, err = cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(t.Context(), redis.Addrs())
	require.NoError(t, err)
	i.store, err = rules.Open(i.rules, func(r limit.Rule) (*limit.Limit, error) { return r.New(new(limit.Limiter)) })
	require.NoError(t, err)
	i.Server = quota.New(quota.Config{
		Client: i.redis, Rules: i.store, Prefix: "limit:", TTL: 10 * time.Second, Delivery: delivery, Log: slog.New(slog.NewTextHandler(&i.log, nil)),
	}, prometheus.NewRegistry())
	ctx, cancel := context.WithCancel(context.Background())
	i.stopping, i.drain = context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); i.Run(ctx) }()
	i.end = sync.OnceFunc(func() {
		i.drain()
		cancel()
		<-done
		_ = i.redis.Close()
	})
	return i
}

// crash ends the instance, which cannot give its leases back.
func (i *instance) crash() {
	_ = i.redis.Close()
	i.end()
}

// reload replaces the rules.
func (i *instance) reload(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(i.rules, []byte(text), 0o600))
	_, err := i.store.Reload()
	require.NoError(t, err)
}

// visit returns how many hits the client was admitted.
func (i *instance) visit(t *testing.T, id bucketID, d time.Duration) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	c := newClient(100, id)
	_ = i.follow(ctx, c)
	return in([]*client{c}, c.began, d)
}

// TestVisits: a client that comes and goes is not admitted more than the limit in a window, whether the
// bucket is forgotten meanwhile, Redis is away then, or the instance is replaced.
func TestVisits(t *testing.T) {
	t.Parallel()
	for _, between := range []string{"nothing", "Redis is away", "another instance"} {
		synctest.Test(t, func(t *testing.T) {
			redis := sim.Start(t, sim.Config{})
			const text = "domain: shop\ndescriptors: [{key: job, rate_limit: {unit: hour, requests_per_unit: 20}}]"
			v := start(t, redis, text)
			total := 0
			for range 30 {
				total += v.visit(t, bucketID{"job": "x"}, 2*time.Second)
				switch between {
				case "Redis is away":
					for _, n := range redis.Nodes() {
						n.Refuse("*", "ERR away", 0)
					}
					time.Sleep(time.Minute)
					redis.Heal()
				case "another instance":
					v.end()
					v = start(t, redis, text)
				}
				time.Sleep(time.Minute)
			}
			v.end()
			require.LessOrEqual(t, total, 20, between)
			require.GreaterOrEqual(t, total, 16, between)
		})
	}
}

// TestChurn: whatever clients come, go and come back, no window has more hits than the limit. A client
// without a stream follows its assignment until that ends.
func TestChurn(t *testing.T) {
	t.Parallel()
	for seed, limit := range []int{1, 20, 100} {
		for unit, instances := range map[time.Duration]int{time.Second: 2, time.Minute: 2, time.Hour: 1} {
			synctest.Test(t, func(t *testing.T) { churn(t, uint64(seed), limit, unit, instances) })
		}
	}
}

func churn(t *testing.T, seed uint64, limit int, unit time.Duration, instances int) {
	units := map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour"}
	text := fmt.Sprintf("domain: shop\ndescriptors: [{key: job, rate_limit: {unit: %s, requests_per_unit: %d}}]", units[unit], limit)
	redis := sim.Start(t, sim.Config{})
	var all []*instance
	for range instances {
		v := start(t, redis, text)
		defer v.end()
		all = append(all, v)
	}
	lasts := time.Duration(race.Rounds(180, 90)) * time.Second // several visits of each client, and more than a minute
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var clients []*client
	var running sync.WaitGroup
	for i := range uint64(7) {
		rng := rand.New(rand.NewPCG(seed, i))
		c := newClient(100, bucketID{"job": "x"})
		clients = append(clients, c)
		running.Go(func() {
			for ctx.Err() == nil {
				visit, cancel := context.WithTimeout(ctx, time.Duration(rng.Int64N(int64(40*time.Second))))
				_ = all[rng.IntN(instances)].follow(visit, c)
				cancel()
				time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second))))
			}
		})
	}
	running.Wait()
	require.LessOrEqual(t, most(clients, lasts, unit), limit, "%d in a %s", limit, units[unit])
}

// most returns how many hits the clients have been admitted in a window, at most.
func most(clients []*client, lasted, window time.Duration) (most int) {
	began, total := clients[0].began, 0
	for at := time.Duration(0); at < lasted; at += bin {
		total += in(clients, began.Add(at), bin)
		if at >= window {
			total -= in(clients, began.Add(at-window), bin)
		}
		most = max(most, total)
	}
	return most
}

// TestTakenOver: clients at an instance that takes over a limit which was used a moment ago do not all begin
// with tokens. If nobody has used it, they do.
func TestTakenOver(t *testing.T) {
	with(t, func(t *testing.T, redis *sim.Cluster, _ *crowd) {
		const text = "domain: shop\ndescriptors: [{key: job, rate_limit: {unit: minute, requests_per_unit: 100}}]"
		before, after := start(t, redis, text), start(t, redis, text)
		defer before.end()
		defer after.end()
		began := time.Now()
		var clients []*client
		follow := func(v *instance, n int, job string, d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			var all sync.WaitGroup
			for range n {
				c := newClient(100, bucketID{"job": job})
				c.began = began
				clients = append(clients, c)
				all.Go(func() { _ = v.follow(ctx, c) })
			}
			all.Wait()
		}
		follow(before, 1, "used", 90*time.Second)
		time.Sleep(15 * time.Second) // its bucket is forgotten
		follow(after, 40, "used", 2*time.Second)
		require.LessOrEqual(t, most(clients, time.Since(began), time.Minute), 100)
		clients = nil
		follow(after, 40, "unused", 2*time.Second)
		require.GreaterOrEqual(t, most(clients, time.Since(began), time.Minute), 40)
	})
}

// TestStuck: the stream of a client that reads nothing is ended, though it still sends reports, and its
// share goes to others.
func TestStuck(t *testing.T) {
	with(t, func(t *testing.T, redis *sim.Cluster, _ *crowd) {
		const text = "domain: shop\ndescriptors: [{key: job, rate_limit: {unit: second, requests_per_unit: 80}}]"
		v := start(t, redis, text)
		defer v.end()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stuck := &stream{ctx: ctx, client: newClient(100, bucketID{"job": "x"}), reports: time.NewTicker(10 * bin), stuck: true}
		defer stuck.reports.Stop()
		ended := make(chan error, 1)
		go func() { ended <- v.StreamRateLimitQuotas(stuck) }()
		require.Equal(t, codes.Aborted, status.Code(<-ended))
		require.NoError(t, ctx.Err())
		time.Sleep(20 * time.Second)
		require.Greater(t, v.visit(t, bucketID{"job": "x"}, 10*time.Second), 700)
	})
}
