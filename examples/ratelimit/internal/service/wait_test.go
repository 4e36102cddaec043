package service_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/service"
)

// counts reports whether package limit counts hits with the command.
func counts(cmd string) bool {
	return slices.Contains([]string{"SET", "INCRBY", "INCREX", "EVALSHA", "EVAL"}, cmd)
}

// hold makes the node hold back the replies to commands that count until they are released, which
// can be done more than once and is at the test's end: the whole emulated cluster stands still meanwhile.
// The channel says that one is held.
func (w *world) hold() (held <-chan struct{}, release func()) {
	first, done := make(chan struct{}), make(chan struct{})
	var once, end sync.Once
	w.redis.Inject(0, func(cmd string, _ []string) string {
		if counts(cmd) {
			once.Do(func() { close(first) })
			<-done
		}
		return ""
	})
	release = func() { end.Do(func() { close(done) }) }
	w.t.Cleanup(release)
	return first, release
}

// TestShed: while as many requests wait for Redis as may, others are refused at once,
// and those that need no limit are answered.
func TestShed(t *testing.T) {
	w := start(t, 1, options{shed: &service.ShedConfig{Min: 1, Max: 1, Initial: 1}})
	held, release := w.hold()
	var client sync.WaitGroup
	client.Go(func() {
		res, err := w.service.ShouldRateLimit(context.Background(), request("user=1"))
		if err != nil || res.GetOverallCode() != ok {
			t.Errorf("the one that waits: %v, %v", res, err)
		}
	})
	<-held
	require.EqualValues(t, 1, w.metric("ratelimit_shed_in_flight"))
	_, err := w.service.ShouldRateLimit(t.Context(), request("user=2"))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "too many requests wait for Redis")
	code, _, _ := w.post(w.url+"/json", `{"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": "2"}]}]}`)
	require.Equal(t, http.StatusServiceUnavailable, code)
	code, _, _ = w.get(w.url + "/check?domain=shop&descriptor=user%3D2")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, ok, w.ask(request("free=1", "color=red")).GetOverallCode())
	require.EqualValues(t, 3, w.metric("ratelimit_shed_total"))

	release()
	client.Wait()
	require.Equal(t, ok, w.ask(request("user=2")).GetOverallCode())
	code, _, _ = w.get(w.url + "/check?domain=shop&descriptor=user%3D2")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, over, w.ask(request("banned=1")).GetOverallCode())
	require.Zero(t, w.metric("ratelimit_shed_in_flight"))
	require.EqualValues(t, 3, w.metric("ratelimit_shed_total"))
}

// TestDeadline: a client that has less time than the limiter's budget gets the answer
// that the rule has for when Redis cannot decide.
func TestDeadline(t *testing.T) {
	w := start(t, 1, options{})
	w.hold()
	for descriptor, want := range map[string]pb.RateLimitResponse_Code{"user=1": ok, "closed=1": over} {
		w.until(func() bool { // a machine that is busy takes longer than the tenth that is left
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			res, err := w.service.ShouldRateLimit(ctx, request(descriptor))
			if status.Code(err) == codes.DeadlineExceeded {
				return false
			}
			require.NoError(t, err)
			require.Equal(t, want, res.GetOverallCode())
			require.Nil(t, res.GetStatuses()[0].GetCurrentLimit())
			return true
		})
	}
}

// TestClientGone: when a client has gone, the service no longer waits for the reply to its hit.
func TestClientGone(t *testing.T) {
	w := start(t, 1, options{})
	held, _ := w.hold()
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	clients.Go(func() {
		if _, err := w.service.ShouldRateLimit(ctx, request("user=1")); status.Code(err) != codes.Canceled {
			t.Errorf("gRPC: %v", err)
		}
	})
	clients.Go(func() {
		body := strings.NewReader(`{"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": "2"}]}]}`)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/json", body)
		if err != nil {
			t.Error(err)
			return
		}
		if res, err := w.http.Do(req); err == nil {
			_ = res.Body.Close()
			t.Errorf("HTTP: %d", res.StatusCode)
		}
	})
	<-held
	w.until(func() bool { return w.metric("ratelimit_requests_in_flight") == 2 })
	cancel()
	clients.Wait()
	w.until(func() bool {
		return w.metric("ratelimit_requests_total", "grpc", "Canceled") == 1 && w.metric("ratelimit_requests_total", "json", "499") == 1
	})
}
