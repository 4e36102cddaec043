package service_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/service"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit"
)

// A tally counts the decisions that it is told of.
type tally struct{ decided int }

func (t *tally) Decided(time.Duration, []limit.Request, limit.Result) { t.decided++ }
func (t *tally) Hits(*limit.Limit, string, int64)                     {}

// canceled returns the decision about a request whose client has gone.
func canceled(t *testing.T) limit.Decision {
	client, err := cluster.Config{Lazy: true, RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("there is no network")
	}}}.New(t.Context(), []string{"redis:6379"})
	require.NoError(t, err)
	defer client.Close()
	limiter, err := limit.New(client)
	require.NoError(t, err)
	defer limiter.Close()
	of, err := limit.Rule{Name: "l", Quota: 1, Window: time.Hour}.New(limiter)
	require.NoError(t, err)
	gone, leave := context.WithCancel(t.Context())
	leave()
	d := limiter.Allow(gone, limit.Request{Limit: of, Key: "k"}).Decision
	require.Equal(t, "canceled", d.Outcome())
	return d
}

// TestOutageIsLogged: there is a line at the beginning and one at the end, however many requests there are in
// between. They say what becomes of requests, and the cause.
func TestOutageIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		next := new(tally)
		observer := service.LogOutages(next, slog.New(slog.NewTextHandler(&out, nil)))
		decide := func(d limit.Decision) string {
			out.Reset()
			observer.Decided(0, nil, limit.Result{Decision: d})
			_, line, _ := strings.Cut(out.String(), " level=")
			return strings.TrimSpace(line)
		}
		redis := limit.Decision{Allowed: true}
		open := limit.Decision{Allowed: true, Err: errors.New("node a is down")}
		closed := limit.Decision{Err: errors.New("node b is down")}
		gone := canceled(t)

		require.Empty(t, decide(redis))
		require.Empty(t, decide(gone), "the client has gone, and not Redis")
		for range 2 { // outages
			require.Equal(t, `WARN msg="limits are not enforced: Redis cannot decide, and requests pass" cause="node a is down"`, decide(open))
			for range 59 {
				time.Sleep(time.Second)
				require.Empty(t, decide(open))
				require.Empty(t, decide(redis), "by another node")
				require.Empty(t, decide(redis))
				require.Empty(t, decide(gone))
			}
			require.Empty(t, decide(closed))
			time.Sleep(10 * time.Second)
			require.Empty(t, decide(limit.Decision{Near: true}), "Redis was not asked")
			require.Empty(t, decide(gone))
			require.Equal(t, `INFO msg="Redis decides all limits again" passed=60 denied=1 for=59s`, decide(redis))
			require.Empty(t, decide(redis))
		}
		require.Contains(t, decide(closed), `WARN msg="requests are denied: Redis cannot decide limits that fail closed" cause="node b is down"`)
		require.Equal(t, 3+2*(1+4*59+1+4), next.decided, "all are passed on")
	})
}
