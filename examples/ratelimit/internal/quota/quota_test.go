package quota_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/redistest/sim"
)

type bucketID = map[string]string

const text = `
domain: shop
descriptors:
  - key: tenant
    rate_limit: {unit: second, requests_per_unit: %d}
  - key: plan
    value: gold
    descriptors:
      - key: user
        rate_limit: {unit: minute, requests_per_unit: 600}
  - key: banned
    rate_limit: {unit: year, requests_per_unit: 0}
  - key: free
    rate_limit: {unlimited: true}
  - key: tried
    rate_limit: {unit: second, requests_per_unit: 10}
    shadow_mode: true
  - key: soft
    rate_limit: {unit: second, requests_per_unit: 200}
    quota_mode: true
`

const perSecond = 1000 // of a tenant

// A crowd is clients that follow instances in the background.
type crowd struct {
	ctx     context.Context
	running sync.WaitGroup
}

// with calls f in virtual time, with a crowd that ends when f returns.
func with(t *testing.T, f func(t *testing.T, redis *sim.Cluster, all *crowd)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		all := &crowd{ctx: ctx}
		defer all.running.Wait()
		defer cancel()
		f(t, sim.Start(t, sim.Config{}), all)
	})
}

// join starts a client at the first instance. When its stream ends, it goes to the next one, unless it was stopped.
func (all *crowd) join(c *client, at ...*instance) (stop func()) {
	ctx, cancel := context.WithCancel(all.ctx)
	all.running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_ = at[i%len(at)].follow(ctx, c)
			time.Sleep(bin)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.advance(time.Now())
		c.next = c.next.Add(time.Hour) // it has no hits any more
	})
	return cancel
}

func eventually(t *testing.T, is func() bool, said ...any) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(bin) {
		require.True(t, time.Now().Before(end), said...)
	}
}

// TestRules: a bucket id gets the strategy of the rule that it matches, in any order of its keys.
func TestRules(t *testing.T) {
	with(t, func(t *testing.T, redis *sim.Cluster, all *crowd) {
		i := start(t, redis, fmt.Sprintf(text, perSecond))
		defer i.end()
		allow, deny := typev3.RateLimitStrategy_ALLOW_ALL, typev3.RateLimitStrategy_DENY_ALL
		for _, c := range []struct {
			id      bucketID
			blanket *typev3.RateLimitStrategy_BlanketRule
			perUnit uint32
			unit    time.Duration
		}{
			{bucketID{"tenant": "{acme}"}, nil, 985, time.Second},
			{bucketID{"user": "42", "plan": "gold"}, nil, 591, time.Minute},
			{bucketID{"banned": "x"}, &deny, 0, 0},
			{bucketID{"free": "x"}, &allow, 0, 0},
			{bucketID{"tried": "x"}, &allow, 0, 0},
			{bucketID{"soft": "x"}, nil, 197, time.Second},
			{bucketID{"unknown": "x"}, &allow, 0, 0},
			{bucketID{"plan": "gold"}, &allow, 0, 0},
		} {
			f := newClient(10, c.id)
			all.join(f, i)
			eventually(t, func() bool {
				s := f.current()
				if c.blanket != nil {
					return s.GetStrategy() != nil && s.GetTokenBucket() == nil && s.GetBlanketRule() == *c.blanket
				}
				b := s.GetTokenBucket()
				return b.GetTokensPerFill().GetValue() == c.perUnit && b.GetFillInterval().AsDuration() == c.unit
			}, "%v", c.id)
		}
	})
}

// TestReload: other rules hold for the clients that are there.
func TestReload(t *testing.T) {
	with(t, func(t *testing.T, redis *sim.Cluster, all *crowd) {
		i := start(t, redis, fmt.Sprintf(text, perSecond))
		defer i.end()
		f := newClient(2000, bucketID{"tenant": "x"})
		all.join(f, i)
		has := func(rate float64) { eventually(t, func() bool { return f.currentRate() == rate }, "%v", rate) }
		has(985)
		for _, limit := range []int{500, 2000, 0} {
			i.reload(t, fmt.Sprintf(text, limit))
			has(float64(limit - limit*3/200))
		}
		require.Equal(t, typev3.RateLimitStrategy_DENY_ALL, f.current().GetBlanketRule())
		require.Nil(t, f.current().GetTokenBucket())
	})
}

// TestOtherUnit: a reload or another instance changes only the unit of a limit. A client that compares
// buckets as Envoy does takes the new limit.
func TestOtherUnit(t *testing.T) {
	with(t, func(t *testing.T, redis *sim.Cluster, all *crowd) {
		of := func(unit string) string {
			return "domain: shop\ndescriptors: [{key: tenant, rate_limit: {unit: " + unit + ", requests_per_unit: 1}}]"
		}
		one, other := start(t, redis, of("second")), start(t, redis, of("hour"))
		defer other.end()
		f := newClient(20, bucketID{"tenant": "x"})
		all.join(f, one, other)
		has := func(unit time.Duration) {
			eventually(t, func() bool { return f.currentRate() == 1/unit.Seconds() }, unit)
		}
		has(time.Second)
		one.reload(t, of("minute"))
		has(time.Minute)
		one.end()
		has(time.Hour)
	})
}

// TestRedisAway: assignments end when leases cannot be renewed, and begin again with Redis. An outage
// is logged once when it begins and once when it ends.
func TestRedisAway(t *testing.T) {
	with(t, func(t *testing.T, redis *sim.Cluster, all *crowd) {
		i := start(t, redis, fmt.Sprintf(text, perSecond))
		defer i.end()
		f := newClient(100, bucketID{"tenant": "x"})
		all.join(f, i)
		has := func(want bool) {
			t.Helper()
			eventually(t, func() bool { return f.current().GetTokenBucket() != nil == want }, want)
		}
		has(true)
		for _, n := range redis.Nodes() {
			n.Refuse("*", "ERR away", 0)
		}
		has(false)
		redis.Heal()
		has(true)
		synctest.Wait()
		require.Equal(t, 1, strings.Count(i.log.String(), "quotas cannot be leased from Redis"), &i.log)
		require.Equal(t, 1, strings.Count(i.log.String(), "quotas are leased from Redis again"), &i.log)
	})
}

// TestStreams: a stream ends with an error for what is no report.
func TestStreams(t *testing.T) {
	with(t, func(t *testing.T, redis *sim.Cluster, all *crowd) {
		i := start(t, redis, fmt.Sprintf(text, perSecond))
		defer i.end()
		reports := func(domain string, id bucketID) *pb.RateLimitQuotaUsageReports {
			return &pb.RateLimitQuotaUsageReports{Domain: domain, BucketQuotaUsages: []*pb.RateLimitQuotaUsageReports_BucketQuotaUsage{{BucketId: &pb.BucketId{Bucket: id}}}}
		}
		free := bucketID{"free": "x"}
		for _, c := range []struct {
			want codes.Code
			sent []*pb.RateLimitQuotaUsageReports
		}{
			{codes.InvalidArgument, []*pb.RateLimitQuotaUsageReports{reports("", free)}},
			{codes.InvalidArgument, []*pb.RateLimitQuotaUsageReports{reports("shop", free), reports("other", free)}},
			{codes.InvalidArgument, []*pb.RateLimitQuotaUsageReports{reports("shop", nil)}},
		} {
			ctx, cancel := context.WithTimeout(all.ctx, time.Minute)
			err := i.StreamRateLimitQuotas(&stream{ctx: ctx, client: newClient(1, free), sent: c.sent})
			cancel()
			require.Equal(t, c.want, status.Code(err))
		}
	})
}

// TestLimit: ten clients with twice the limit never have more than it in a second, and at least 98 % of it when
// shares have settled: from the start, after a join, after a client has crashed, and after an instance has crashed
// or stopped.
func TestLimit(t *testing.T) {
	with(t, func(t *testing.T, redis *sim.Cluster, all *crowd) {
		tenants := fmt.Sprintf(text, perSecond)
		stays, crashes, stops := start(t, redis, tenants), start(t, redis, tenants), start(t, redis, tenants)
		defer stays.end()
		began := time.Now()
		groups := make(map[string][]*client)
		join := func(group string, n int, at ...*instance) (stop func()) {
			for range n {
				c := newClient(200, bucketID{"tenant": group})
				c.began = began
				groups[group] = append(groups[group], c)
				stop = all.join(c, at...)
			}
			return stop
		}
		join("join", 10, stays)
		stop := join("client crash", 10, stays)
		join("instance crash", 10, crashes, stays)
		join("instance stop", 7, stops, stays)
		join("instance stop", 3, stays)
		settle := func() {
			for name, clients := range groups {
				eventually(t, func() bool { return settled(clients) }, name)
			}
			from := time.Now()
			time.Sleep(2*time.Second + bin)
			for name, clients := range groups {
				require.GreaterOrEqual(t, in(clients, from, 2*time.Second), 2*perSecond*98/100, name)
			}
		}
		settle()
		join("join", 1, stays)
		stop()
		crashes.crash()
		stops.end()
		time.Sleep(20 * time.Second) // the leases and assignments of those that are gone have ended
		dead := groups["client crash"][9:]
		groups["client crash"] = groups["client crash"][:9]
		settle()
		groups["client crash"] = append(groups["client crash"], dead...)
		for name, clients := range groups {
			require.LessOrEqual(t, most(clients, time.Since(began), time.Second), perSecond, name)
		}
	})
}

// settled reports whether the clients have the limit, in equal shares.
func settled(clients []*client) bool {
	sum := 0.0
	for _, c := range clients {
		rate := c.currentRate()
		if rate < 0.9*perSecond/float64(len(clients)) {
			return false
		}
		sum += rate
	}
	return sum >= 0.982*perSecond
}
