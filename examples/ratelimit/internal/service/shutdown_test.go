package service_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/service"
)

// TestStopUnderLoad: every request that the service has decided is answered, and
// before it accepts no more it says that it is not ready.
func TestStopUnderLoad(t *testing.T) {
	w := start(t, 3, options{server: service.ServerConfig{DrainDelay: 3 * time.Second}})
	watch, err := grpc_health_v1.NewHealthClient(w.conn).Watch(t.Context(), new(grpc_health_v1.HealthCheckRequest))
	require.NoError(t, err)
	reflection, err := grpc_reflection_v1.NewServerReflectionClient(w.conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, reflection.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}))
	_, err = reflection.Recv()
	require.NoError(t, err)

	// Clients that go on until they cannot reach the service.
	var overGRPC, overHTTP atomic.Int64
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for {
				_, err := w.service.ShouldRateLimit(context.Background(), request("tenant="+strconv.Itoa(i), "user="+strconv.Itoa(i)))
				if err != nil {
					if status.Code(err) != codes.Unavailable {
						t.Errorf("gRPC: %v", err)
					}
					return
				}
				overGRPC.Add(1)
			}
		})
		clients.Go(func() {
			body := `{"domain": "shop", "descriptors": [{"entries": [{"key": "tenant", "value": "` + strconv.Itoa(i) + `"}]}]}`
			for {
				res, err := w.http.Post(w.url+"/json", "application/json", strings.NewReader(body))
				if err != nil {
					return
				}
				_, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusTooManyRequests {
					t.Errorf("HTTP: %d, %v", res.StatusCode, err)
				}
				overHTTP.Add(1)
			}
		})
	}
	enough := func(n int64) func() bool {
		return func() bool { return overGRPC.Load() > n && overHTTP.Load() > n }
	}
	require.Eventually(t, enough(100), 20*time.Second, time.Millisecond)
	w.stop()
	for told := serving; told == serving; {
		res, err := watch.Recv()
		require.NoError(t, err)
		told = res.GetStatus()
	}
	res, err := w.http.Get(w.url + "/healthz")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.True(t, res.Close, "clients go elsewhere")
	code, _, text := w.get(w.url + "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, "about to stop")
	before := overGRPC.Load()
	require.Eventually(t, func() bool { return overGRPC.Load() > before }, 10*time.Second, time.Millisecond, "it goes on for a while")

	<-w.stopped
	require.NoError(t, w.err, "nothing was cut off")
	clients.Wait()
	require.EqualValues(t, overGRPC.Load(), w.metric("ratelimit_requests_total", "grpc"))
	require.EqualValues(t, overHTTP.Load(), w.metric("ratelimit_requests_total", "json"))
	_, err = watch.Recv()
	require.Error(t, err, "the watch has ended")
	_, err = reflection.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
}

// TestStopIsBounded: what does not end in time is cut off, and that is an error.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	for protocol, ask := range map[string]func(*world) error{
		"gRPC": func(w *world) error {
			_, err := w.service.ShouldRateLimit(context.Background(), request("user=1"))
			return err
		},
		"HTTP": func(w *world) error {
			res, err := w.http.Get(w.url + "/check?domain=shop&descriptor=user%3D1")
			if err == nil {
				_ = res.Body.Close()
			}
			return err
		},
	} {
		t.Run(protocol, func(t *testing.T) {
			w := start(t, 1, options{server: service.ServerConfig{ShutdownTimeout: 500 * time.Millisecond}})
			held, _ := w.hold()
			answer := make(chan error, 1)
			go func() { answer <- ask(w) }()
			<-held
			w.stop()
			<-w.stopped
			require.ErrorContains(t, w.err, protocol+": requests were cut off that were still running after 500ms")
			require.Error(t, <-answer)
		})
	}
}
