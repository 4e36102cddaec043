package quota_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/redistest"
)

type bucketID = map[string]string

// TestRules: a bucket id gets the strategy of the rule that it matches, in any order of its keys.
func TestRules(t *testing.T) {
	t.Parallel()
	i := start(t, redistest.StartEmulated(t, 3).Addrs())
	began := time.Now()
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
		f := follow(t, began, 10, c.id, i.addr)
		require.Eventually(t, func() bool {
			s := f.current()
			if c.blanket != nil {
				return s.GetStrategy() != nil && s.GetTokenBucket() == nil && s.GetBlanketRule() == *c.blanket
			}
			b := s.GetTokenBucket()
			return b.GetTokensPerFill().GetValue() == c.perUnit && b.GetFillInterval().AsDuration() == c.unit
		}, 20*time.Second, bin, "%v", c.id)
	}
}

// TestReload: other rules hold for the clients that are there.
func TestReload(t *testing.T) {
	t.Parallel()
	i := start(t, redistest.StartEmulated(t, 3).Addrs())
	began := time.Now()
	f := follow(t, began, 2000, bucketID{"tenant": "x"}, i.addr)
	has := func(rate float64) {
		t.Helper()
		require.Eventually(t, func() bool { return f.currentRate() == rate }, 20*time.Second, bin)
	}
	has(985)
	for _, limit := range []int{500, 2000, 0} {
		i.write(limit)
		_, err := i.store.Reload()
		require.NoError(t, err)
		has(float64(limit - limit*3/200))
	}
	require.Equal(t, typev3.RateLimitStrategy_DENY_ALL, f.current().GetBlanketRule())
	require.Nil(t, f.current().GetTokenBucket())
}

// TestOtherUnit: a reload or another instance changes only the unit of a limit. A client that compares
// buckets as Envoy does takes the new limit.
func TestOtherUnit(t *testing.T) {
	t.Parallel()
	one, other := start(t, redistest.StartEmulated(t, 1).Addrs()), start(t, redistest.StartEmulated(t, 1).Addrs())
	reload := func(i *instance, unit string) {
		text := "domain: shop\ndescriptors: [{key: tenant, rate_limit: {unit: " + unit + ", requests_per_unit: 1}}]"
		require.NoError(t, os.WriteFile(i.path, []byte(text), 0o600))
		_, err := i.store.Reload()
		require.NoError(t, err)
	}
	reload(one, "second")
	reload(other, "hour")
	f := follow(t, time.Now(), 20, bucketID{"tenant": "x"}, one.addr, other.addr)
	has := func(unit time.Duration) {
		t.Helper()
		require.Eventually(t, func() bool { return f.currentRate() == 1/unit.Seconds() }, 20*time.Second, bin)
	}
	has(time.Second)
	reload(one, "minute")
	has(time.Minute)
	f.reconnect()
	has(time.Hour)
}

// TestRedisAway: assignments end when leases cannot be renewed, and begin again with Redis. An outage
// is logged once when it begins and once when it ends. A slow machine may have outages of its own.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	redis := redistest.StartEmulated(t, 1)
	i := start(t, redis.Addrs())
	f := follow(t, time.Now(), 100, bucketID{"tenant": "x"}, i.addr)
	eventually := func(has bool) {
		t.Helper()
		require.Eventually(t, func() bool { return f.current().GetTokenBucket() != nil == has }, 20*time.Second, bin)
	}
	logged := func() (begun, ended int) {
		t.Helper()
		for line := range strings.Lines(i.log.String()) {
			switch {
			case strings.Contains(line, "quotas cannot be leased from Redis"):
				begun++
				require.Equal(t, ended+1, begun, i.log)
			case strings.Contains(line, "quotas are leased from Redis again"):
				ended++
				require.Equal(t, begun, ended, i.log)
			}
		}
		return begun, ended
	}
	eventually(true)
	redis.Nodes()[0].SetError("ERR away")
	eventually(false)
	outage, ended := logged()
	require.Equal(t, outage-1, ended, i.log)
	redis.Nodes()[0].SetError("")
	eventually(true)
	_, ended = logged()
	require.GreaterOrEqual(t, ended, outage, i.log)
}

// TestStreams: a stream ends with an error for what is no report, and when the service stops.
func TestStreams(t *testing.T) {
	t.Parallel()
	i := start(t, redistest.StartEmulated(t, 1).Addrs())
	conn, err := grpc.NewClient(i.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	open := func() pb.RateLimitQuotaService_StreamRateLimitQuotasClient {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		t.Cleanup(cancel)
		stream, err := pb.NewRateLimitQuotaServiceClient(conn).StreamRateLimitQuotas(ctx)
		require.NoError(t, err)
		return stream
	}
	reports := func(domain string, ids ...bucketID) *pb.RateLimitQuotaUsageReports {
		r := &pb.RateLimitQuotaUsageReports{Domain: domain}
		for _, id := range ids {
			r.BucketQuotaUsages = append(r.BucketQuotaUsages, &pb.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: &pb.BucketId{Bucket: id}})
		}
		return r
	}
	for _, c := range []struct {
		name string
		sent []*pb.RateLimitQuotaUsageReports
	}{
		{"no domain", []*pb.RateLimitQuotaUsageReports{reports("", bucketID{"free": "x"})}},
		{"another domain", []*pb.RateLimitQuotaUsageReports{reports("shop"), reports("other")}},
		{"no bucket id", []*pb.RateLimitQuotaUsageReports{reports("shop", bucketID{})}},
	} {
		stream := open()
		for _, r := range c.sent {
			require.NoError(t, stream.Send(r))
		}
		_, err := stream.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), c.name)
	}
	stream := open()
	require.NoError(t, stream.Send(reports("shop", bucketID{"free": "x"})))
	_, err = stream.Recv()
	require.NoError(t, err)
	i.quota.Drain()
	for err == nil {
		_, err = stream.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err))
}
