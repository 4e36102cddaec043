package service_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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

// TestClientGone: the service does not wait for the reply to a hit whose client has
// gone.
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
