package redis_test

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/envoyproxy/ratelimit/test/mocks/stats"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	gostats "github.com/lyft/gostats"

	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/envoyproxy/ratelimit/src/redis"
	"github.com/envoyproxy/ratelimit/src/utils"
	"github.com/envoyproxy/ratelimit/test/common"
)

// cpu returns what the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkDoLimitOfFourKeys(b *testing.B) {
	statsStore := gostats.NewStore(gostats.NewNullSink(), false)
	sm := stats.NewMockStatManager(statsStore)
	client := redis.NewClientImpl(statsStore, false, "", "tcp", "cluster", os.Getenv("ADDRS"), 10, 0, 0, nil, false, nil, 10*time.Second, "", "")
	defer client.Close()
	cache := redis.NewFixedRateLimitCacheImpl(client, nil, utils.NewTimeSourceImpl(), rand.New(utils.NewLockedSource(time.Now().Unix())), 10, nil, 0.8, "", sm, true)
	var n atomic.Int64
	limit := config.NewRateLimit(1000000000, pb.RateLimitResponse_RateLimit_SECOND, sm.NewStats("key_value"), false, false, false, "", nil, false)
	limits := []*config.RateLimit{limit, limit, limit, limit}
	b.ReportAllocs()
	b.SetParallelism(50)
	b.ResetTimer()
	began := cpu()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			request := common.NewRateLimitRequest("domain", [][][2]string{{{"a", "fixed"}}, {{"b", fmt.Sprint(i % 1000)}}, {{"c", fmt.Sprint(i % 1111)}}, {{"d", fmt.Sprint(i % 1313)}}}, 1)
			cache.DoLimit(context.Background(), request, limits)
		}
	})
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
}
