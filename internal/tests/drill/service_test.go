package drill

import (
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/metrics/limits"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A service decides about requests with a limiter, and serves its metrics.
type service struct {
	addr    string
	limiter *limit.Limiter
	limit   *limit.Limit
	ctx     context.Context
	callers sync.WaitGroup
}

func startService(t *testing.T, addrs []string, size pool.Config, proxies redistest.Proxies) *service {
	requests, decisions := metrics.New(), limits.New()
	config := cluster.Config{Pool: size, Trace: requests.Trace(), RetryWindow: 100 * time.Millisecond}
	if proxies != nil {
		config.AddrMap = proxies.AddrMap
	}
	starting, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client, err := config.New(starting, addrs)
	require.NoError(t, err)
	limiter, err := limit.Config{Observer: decisions}.New(client)
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	registry.MustRegister(requests, decisions,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	page := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	ctx, stop := context.WithCancel(context.Background())
	s := &service{addr: page.Listener.Addr().String(), limiter: limiter, ctx: ctx}
	s.limit, err = limiter.Limit(limit.Rule{Name: "drill", Limit: 1_000_000_000_000, Window: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		s.callers.Wait()
		page.Close()
		_ = limiter.Close()
		_ = client.Close()
	})
	return s
}

// load adds callers, which pause after each request.
func (s *service) load(callers int, pause time.Duration) {
	for range callers {
		s.callers.Go(func() {
			for s.ctx.Err() == nil {
				s.limiter.Allow(s.ctx, limit.Request{Limit: s.limit, Key: strconv.Itoa(rand.IntN(1000))})
				select {
				case <-time.After(pause):
				case <-s.ctx.Done():
				}
			}
		})
	}
}
