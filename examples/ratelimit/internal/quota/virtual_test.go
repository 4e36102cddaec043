package quota_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/redistest/sim"
)

// A virtual instance runs in a bubble of synctest, without sockets.
type virtual struct {
	*quota.Server
	stop func() // as the service does
}

func startVirtual(t *testing.T, redis *sim.Cluster, text string) *virtual {
	t.Helper()
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(t.Context(), redis.Addrs())
	require.NoError(t, err)
	store, err := rules.Fixed(rules.Source{Name: "rules.yaml", Text: []byte(text)}, func(r limit.Rule) (*limit.Limit, error) { return r.New(new(limit.Limiter)) })
	require.NoError(t, err)
	v := &virtual{Server: quota.New(quota.Config{
		Client: client, Rules: store, Prefix: "limit:", TTL: 10 * time.Second, Delivery: delivery, Log: slog.New(slog.DiscardHandler),
	}, prometheus.NewRegistry())}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); v.Run(ctx) }()
	v.stop = func() {
		v.Drain()
		cancel()
		<-done
		require.NoError(t, client.Close())
	}
	return v
}

// A visit is the stream of a client that comes, has more hits than it may, and goes.
type visit struct {
	grpc.ServerStream
	ctx     context.Context
	client  *client
	reports *time.Ticker
	stuck   bool // the client reads nothing any more
}

func (v *visit) Context() context.Context { return v.ctx }

func (v *visit) Recv() (*pb.RateLimitQuotaUsageReports, error) {
	select {
	case <-v.ctx.Done():
		return nil, v.ctx.Err()
	case now := <-v.reports.C:
		return v.client.report(now), nil
	}
}

func (v *visit) Send(r *pb.RateLimitQuotaResponse) error {
	if v.stuck {
		<-v.ctx.Done()
		return v.ctx.Err()
	}
	for _, a := range r.GetBucketAction() {
		v.client.apply(time.Now(), a)
	}
	return nil
}

// follow lets the client report and follow its assignments until the context ends.
func (v *virtual) follow(ctx context.Context, c *client) {
	stream := &visit{ctx: ctx, client: c, reports: time.NewTicker(10 * bin)}
	defer stream.reports.Stop()
	_ = v.StreamRateLimitQuotas(stream)
}

// newClient returns a client that has hits from now on.
func newClient(t *testing.T, id bucketID) *client {
	now := time.Now()
	return &client{t: t, id: id, gap: bin, began: now, next: now, reported: now}
}

// visit returns how many hits the client was admitted.
func (v *virtual) visit(t *testing.T, id bucketID, d time.Duration) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	c := newClient(t, id)
	v.follow(ctx, c)
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
			v := startVirtual(t, redis, text)
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
					v.stop()
					v = startVirtual(t, redis, text)
				}
				time.Sleep(time.Minute)
			}
			v.stop()
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
	var all []*virtual
	for range instances {
		v := startVirtual(t, redis, text)
		defer v.stop()
		all = append(all, v)
	}
	lasts := time.Duration(race.Rounds(180, 90)) * time.Second // several visits of each client, and more than a minute
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var clients []*client
	var running sync.WaitGroup
	for i := range uint64(7) {
		rng := rand.New(rand.NewPCG(seed, i))
		c := newClient(t, bucketID{"job": "x"})
		clients = append(clients, c)
		running.Go(func() {
			for ctx.Err() == nil {
				visit, cancel := context.WithTimeout(ctx, time.Duration(rng.Int64N(int64(40*time.Second))))
				all[rng.IntN(instances)].follow(visit, c)
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := sim.Start(t, sim.Config{})
		const text = "domain: shop\ndescriptors: [{key: job, rate_limit: {unit: minute, requests_per_unit: 100}}]"
		before, after := startVirtual(t, redis, text), startVirtual(t, redis, text)
		defer before.stop()
		defer after.stop()
		began := time.Now()
		var clients []*client
		follow := func(v *virtual, n int, job string, d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			var all sync.WaitGroup
			for range n {
				c := newClient(t, bucketID{"job": job})
				c.began = began
				clients = append(clients, c)
				all.Go(func() { v.follow(ctx, c) })
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const text = "domain: shop\ndescriptors: [{key: job, rate_limit: {unit: second, requests_per_unit: 80}}]"
		v := startVirtual(t, sim.Start(t, sim.Config{}), text)
		defer v.stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stuck := &visit{ctx: ctx, client: newClient(t, bucketID{"job": "x"}), reports: time.NewTicker(10 * bin), stuck: true}
		defer stuck.reports.Stop()
		ended := make(chan error, 1)
		go func() { ended <- v.StreamRateLimitQuotas(stuck) }()
		require.Equal(t, codes.Aborted, status.Code(<-ended))
		require.NoError(t, ctx.Err())
		time.Sleep(20 * time.Second)
		require.Greater(t, v.visit(t, bucketID{"job": "x"}, 10*time.Second), 700)
	})
}
