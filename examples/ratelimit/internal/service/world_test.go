package service_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	types "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/service"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// The units are long, so that no window ends in a test.
const testRules = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 5, name: per_user}
  - key: tenant
    rate_limit: {unit: month, requests_per_unit: 100}
  - key: bucket
    rate_limit: {unit: day, requests_per_unit: 50, algorithm: token_bucket, burst: 10}
  - key: sliding
    rate_limit: {unit: week, requests_per_unit: 7, algorithm: sliding_window}
  - key: banned
    rate_limit: {unit: year, requests_per_unit: 0}
  - key: free
    rate_limit: {unlimited: true}
  - key: tried
    rate_limit: {unit: year, requests_per_unit: 1}
    shadow_mode: true
  - key: first
    rate_limit: {unit: year, requests_per_unit: 1}
    quota_mode: true
  - key: second
    rate_limit: {unit: year, requests_per_unit: 2}
    quota_mode: true
  - key: third
    rate_limit: {unit: year, requests_per_unit: 2, fail_closed: true}
    quota_mode: true
  - key: closed
    rate_limit: {unit: year, requests_per_unit: 5, fail_closed: true}
  - key: tokens
    rate_limit: {unit: year, requests_per_unit: 5, charge: true}
  - key: fits
    rate_limit: {unit: year, requests_per_unit: 5, charge: false}
  - key: vip
    rate_limit: {unit: year, requests_per_unit: 50, replaces: [{name: per_user}]}
  - key: plan
    value: gold
    descriptors:
      - key: path
        value: /img/*
        rate_limit: {unit: year, requests_per_unit: 2}
`

// A world is a service that runs, and its clients.
type world struct {
	t        *testing.T
	redis    *redistest.Emulated
	service  pb.RateLimitServiceClient
	conn     *grpc.ClientConn
	http     *http.Client
	url      string
	addrs    service.Addrs
	registry *prometheus.Registry
	stop     context.CancelFunc
	stopped  chan struct{}
	err      error // of Run, once stopped is closed
}

type options struct {
	limit      limit.Config
	cluster    cluster.Config
	shed       *service.ShedConfig
	server     service.ServerConfig
	maxMessage int
}

// start starts a service on an emulated cluster. Its test runs beside others.
func start(t *testing.T, primaries int, o options) *world {
	t.Helper()
	t.Parallel()
	redis := redistest.StartEmulated(t, primaries)
	if o.limit.Budget == 0 {
		o.limit.Budget = 10 * time.Second
	}
	if o.maxMessage == 0 {
		o.maxMessage = 64 << 10
	}
	if o.server.ShutdownTimeout == 0 {
		o.server.ShutdownTimeout = 20 * time.Second
	}
	o.server.GRPCAddr, o.server.HTTPAddr, o.server.AdminAddr, o.server.Pprof = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", true
	log := slog.New(slog.DiscardHandler)
	client, err := o.cluster.New(t.Context(), redis.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	limiter, err := o.limit.New(client)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, limiter.Close()) })
	store, err := rules.Fixed(rules.Source{Name: "rules.yaml", Text: []byte(testRules)}, func(r limit.Rule) (*limit.Limit, error) { return r.New(limiter) })
	require.NoError(t, err)
	w := &world{t: t, redis: redis, registry: prometheus.NewRegistry(), stopped: make(chan struct{})}
	c := service.Config{Limiter: limiter, Budget: o.limit.Budget, Rules: store, Metrics: service.NewMetrics(w.registry, store), MaxMessage: o.maxMessage, Log: log}
	if o.shed != nil {
		c.Shedder = service.NewShedder(*o.shed, w.registry)
	}
	server, err := service.Listen(t.Context(), service.New(c), service.NewHealth(client), w.registry, o.server)
	require.NoError(t, err)
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	go func() {
		defer close(w.stopped)
		w.err = server.Run(ctx)
	}()
	t.Cleanup(w.wait)
	w.addrs = server.Addrs()
	w.url = "http://" + w.addrs.HTTP
	w.http = &http.Client{Transport: &http.Transport{}}
	t.Cleanup(w.http.CloseIdleConnections)
	w.conn, err = grpc.NewClient(w.addrs.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.conn.Close() })
	w.service = pb.NewRateLimitServiceClient(w.conn)
	return w
}

// wait stops the service and waits until it has.
func (w *world) wait() {
	w.stop()
	<-w.stopped
}

// refuse makes the first node refuse commands that count hits.
func (w *world) refuse() {
	w.redis.Inject(0, func(cmd string, _ []string) string {
		if counts(cmd) {
			return "OOM command not allowed"
		}
		return ""
	})
}

// until tries again until the condition holds. It runs in the test's goroutine, so that
// the condition may fail the test.
func (w *world) until(condition func() bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("it has not come to that in 20 s")
		}
	}
}

// request makes a request of descriptors such as plan=gold,path=/img/a.
func request(descriptors ...string) *pb.RateLimitRequest {
	req := &pb.RateLimitRequest{Domain: "shop"}
	for _, text := range descriptors {
		d := new(ratelimit.RateLimitDescriptor)
		for e := range strings.SplitSeq(text, ",") {
			key, value, _ := strings.Cut(e, "=")
			d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: key, Value: value})
		}
		req.Descriptors = append(req.Descriptors, d)
	}
	return req
}

// hits makes a request of a descriptor that brings its hits with itself; none looks.
func hits(descriptor string, n uint64) *pb.RateLimitRequest {
	req := request(descriptor)
	req.Descriptors[0].HitsAddend = wrapperspb.UInt64(n)
	return req
}

// giveBack makes a request of a descriptor that gives hits back.
func giveBack(descriptor string, n uint64) *pb.RateLimitRequest {
	req := hits(descriptor, n)
	req.Descriptors[0].IsNegativeHits = true
	return req
}

// override makes a request with a limit in its first descriptor.
func override(perUnit uint32, unit types.RateLimitUnit, descriptors ...string) *pb.RateLimitRequest {
	req := request(descriptors...)
	req.Descriptors[0].Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: perUnit, Unit: unit}
	return req
}

// ask sends the request over gRPC.
func (w *world) ask(req *pb.RateLimitRequest) *pb.RateLimitResponse {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	res, err := w.service.ShouldRateLimit(ctx, req)
	require.NoError(w.t, err)
	return res
}

// get and post return status, fields and body.
func (w *world) get(url string) (int, http.Header, string) {
	w.t.Helper()
	return w.do(http.MethodGet, url, "")
}

func (w *world) post(url, body string) (int, http.Header, string) {
	w.t.Helper()
	return w.do(http.MethodPost, url, body)
}

func (w *world) do(method, url, body string) (int, http.Header, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, url, strings.NewReader(body))
	require.NoError(w.t, err)
	res, err := w.http.Do(req)
	require.NoError(w.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res.StatusCode, res.Header, string(text)
}

// metric returns the sum of a metric, of the series that have the labels.
func (w *world) metric(name string, labels ...string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	require.NoError(w.t, err)
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			text := fmt.Sprint(m.GetLabel())
			matches := true
			for _, label := range labels {
				matches = matches && strings.Contains(text, `value:"`+label+`"`)
			}
			if matches {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}
