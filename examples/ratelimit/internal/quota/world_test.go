package quota_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
	"github.com/redislanes/redislanes/limit"
)

const (
	ttl = 4 * time.Second
	// A machine with too little time for the tests has the limit exceeded by what takes longer.
	delivery = 1500 * time.Millisecond
)

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

// An instance is one of the service.
type instance struct {
	t      *testing.T
	addr   string
	redis  *cluster.Client
	grpc   *grpc.Server
	quota  *quota.Server
	store  *rules.Store
	path   string
	log    *safeBuffer
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func start(t *testing.T, redis []string) *instance {
	t.Helper()
	i := &instance{t: t, path: filepath.Join(t.TempDir(), "rules.yaml"), log: new(safeBuffer)}
	i.write(1000)
	var err error
	i.redis, err = cluster.New(t.Context(), redis)
	require.NoError(t, err)
	i.store, err = rules.Open(i.path, func(r limit.Rule) (*limit.Limit, error) { return r.New(new(limit.Limiter)) })
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	i.quota = quota.New(quota.Config{
		Client: i.redis, Rules: i.store, Prefix: "limit:", TTL: ttl, Delivery: delivery, Log: slog.New(slog.NewTextHandler(i.log, nil)),
	}, registry)
	i.grpc = grpc.NewServer(grpc.WaitForHandlers(true))
	pb.RegisterRateLimitQuotaServiceServer(i.grpc, i.quota)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	i.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	i.cancel = cancel
	i.done.Go(func() { i.quota.Run(ctx) })
	i.done.Go(func() { _ = i.grpc.Serve(l) })
	t.Cleanup(i.crash)
	return i
}

func (i *instance) write(limit int) {
	require.NoError(i.t, os.WriteFile(i.path, fmt.Appendf(nil, text, limit), 0o600))
}

// crash ends the instance, which cannot give its leases back.
func (i *instance) crash() {
	_ = i.redis.Close()
	i.end()
}

// end stops the instance as the service does.
func (i *instance) end() {
	i.quota.Drain()
	i.grpc.Stop()
	i.cancel()
	i.done.Wait()
	_ = i.redis.Close()
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
