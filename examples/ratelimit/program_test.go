package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/service"
	"github.com/redislanes/redislanes/internal/servers"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// A running is a program in this process.
type running struct {
	t       *testing.T
	addrs   service.Addrs
	log     *os.File
	stop    context.CancelFunc
	stopped chan error
}

// launch runs the program with the arguments, on free ports and with a budget that a slow machine keeps.
func launch(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	r := &running{t: t, log: log, stop: stop, stopped: make(chan error, 1)}
	args = append([]string{"-grpc-addr=127.0.0.1:0", "-http-addr=127.0.0.1:0", "-admin-addr=127.0.0.1:0", "-drain-delay=0s", "-budget=5s"}, args...)
	started := make(chan service.Addrs, 1)
	go func() {
		r.stopped <- run(ctx, args, io.Discard, r.log, func(p *program) { started <- p.server.Addrs() })
	}()
	t.Cleanup(stop)
	select {
	case r.addrs = <-started:
	case err := <-r.stopped:
		t.Fatalf("it has not started: %v\n%s", err, r.said())
	}
	return r
}

// end stops the program.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	require.NoError(r.t, <-r.stopped, r.said())
}

// said returns the log.
func (r *running) said() string {
	r.t.Helper()
	text, err := os.ReadFile(r.log.Name())
	require.NoError(r.t, err)
	return string(text)
}

// quotas opens a stream of quotas, on a connection that the test's end closes.
func (r *running) quotas() (*grpc.ClientConn, rlqs.RateLimitQuotaService_StreamRateLimitQuotasClient) {
	r.t.Helper()
	conn, err := grpc.NewClient(r.addrs.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = conn.Close() })
	stream, err := rlqs.NewRateLimitQuotaServiceClient(conn).StreamRateLimitQuotas(r.t.Context())
	require.NoError(r.t, err)
	return conn, stream
}

func (r *running) get(url string) (int, string) {
	r.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + url)
	require.NoError(r.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	return res.StatusCode, string(text)
}

// check returns the status of the answer to a query.
func (r *running) check(query string) int {
	r.t.Helper()
	code, _ := r.get(r.addrs.HTTP + "/check?" + query)
	return code
}

func (r *running) metrics() string {
	r.t.Helper()
	_, text := r.get(r.addrs.Admin + "/metrics")
	return text
}

// TestRun: without arguments, on an emulated cluster and with the rules that are in the
// program.
func TestRun(t *testing.T) {
	t.Parallel()
	r := launch(t, "-log-format=json", "-shed")
	code, text := r.get(r.addrs.HTTP + "/readyz")
	require.Equal(t, http.StatusOK, code, text)
	require.Equal(t, http.StatusTooManyRequests, r.check("domain=shop&descriptor=remote_address=198.51.100.7"))
	require.Equal(t, http.StatusOK, r.check("domain=shop&descriptor=user=42&descriptor=plan=free,user=42"))
	_, text = r.get(r.addrs.Admin + "/live/")
	require.Contains(t, text, "without Redis")
	text = r.metrics()
	for _, want := range []string{
		"go_goroutines", "process_cpu_seconds_total", "redislanes_slots_owned 16384", "redislanes_request_duration_seconds",
		`redislanes_limit_decisions_total{limit="shop.user",outcome="allowed",shadow="false"} 1`, "ratelimit_shed_limit 256",
	} {
		require.Contains(t, text, want)
	}
	r.end()
	require.Contains(t, r.said(), `"msg":"serving"`)
}

// TestRunQuotas: the rate limit quota service assigns what a rule allows, and the program stops although
// a stream is open.
func TestRunQuotas(t *testing.T) {
	t.Parallel()
	r := launch(t)
	conn, stream := r.quotas()
	for _, of := range []string{"", pb.RateLimitService_ServiceDesc.ServiceName, rlqs.RateLimitQuotaService_ServiceDesc.ServiceName} {
		health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: of})
		require.NoError(t, err, of)
		require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, health.GetStatus(), of)
	}
	id := &rlqs.BucketId{Bucket: map[string]string{"user": "42", "plan": "free"}}
	require.NoError(t, stream.Send(&rlqs.RateLimitQuotaUsageReports{
		Domain: "shop", BucketQuotaUsages: []*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{{BucketId: id}},
	}))
	for assigned := uint32(0); assigned == 0; {
		res, err := stream.Recv()
		require.NoError(t, err)
		for _, a := range res.GetBucketAction() { // in this order
			require.Equal(t, id.GetBucket(), a.GetBucketId().GetBucket())
			assigned = a.GetQuotaAssignmentAction().GetRateLimitStrategy().GetTokenBucket().GetTokensPerFill().GetValue()
		}
	}
	r.end()
	var err error
	for err == nil {
		_, err = stream.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err))
}

// TestLargeReport: a proxy reports all of its bucket ids in one message, which may be larger than a
// request.
func TestLargeReport(t *testing.T) {
	t.Parallel()
	r := launch(t)
	conn, stream := r.quotas()
	report := &rlqs.RateLimitQuotaUsageReports{Domain: "shop"}
	for i := range 10_000 {
		report.BucketQuotaUsages = append(report.BucketQuotaUsages, &rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{
			BucketId: &rlqs.BucketId{Bucket: map[string]string{"unlimited": fmt.Sprintf("%0100d", i)}},
		})
	}
	require.NoError(t, stream.Send(report))
	assigned := make(map[string]bool)
	for len(assigned) < len(report.GetBucketQuotaUsages()) {
		res, err := stream.Recv()
		require.NoError(t, err)
		for _, a := range res.GetBucketAction() {
			assigned[a.GetBucketId().GetBucket()["unlimited"]] = true
		}
	}
	require.NoError(t, stream.CloseSend())
	large := &pb.RateLimitRequest{Domain: strings.Repeat("x", 1<<18)}
	_, err := pb.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), large)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "262148 bytes: want at most 262144, or a larger -max-message")
	r.end()
}

// TestRunInShadow: nothing is denied, and the metrics say what would be.
func TestRunInShadow(t *testing.T) {
	t.Parallel()
	r := launch(t, "-shadow")
	require.Equal(t, http.StatusOK, r.check("domain=shop&descriptor=remote_address=198.51.100.7"))
	require.Regexp(t, `redislanes_limit_decisions_total{limit="shop.remote_address_198.51.100.7-[0-9a-f]{12}",outcome="denied",shadow="true"} 1\n`, r.metrics())
	r.end()
	require.Contains(t, r.said(), "stopped")
}

// TestReload: the rules of a file are replaced while the program runs, but not by a
// mistake, which is logged and counted. A domain that has no rules any more is named.
func TestReload(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	write := func(text string) {
		require.NoError(t, os.WriteFile(path+"~", []byte(text), 0o600))
		require.NoError(t, os.Rename(path+"~", path))
	}
	const rule = "domain: d\ndescriptors: [{key: k, rate_limit: {unit: year, requests_per_unit: 0}}]\n"
	write("domain: d\n")
	r := launch(t, "-rules", path)
	const query = "domain=d&descriptor=k=1"
	eventually := func(is func() bool) { require.Eventually(t, is, 10*time.Second, 10*time.Millisecond) }
	require.Equal(t, http.StatusOK, r.check(query))
	write(rule)
	eventually(func() bool { return r.check(query) == http.StatusTooManyRequests })
	write("domain: d\ndescriptors: [{kye: k}]\n")
	eventually(func() bool { return strings.Contains(r.said(), path+`:2: unknown field`) })
	require.Contains(t, r.metrics(), `ratelimit_rules_reloads_total{result="error"} 1`)
	require.Contains(t, r.metrics(), "ratelimit_rules_last_reload_successful 0")
	require.Equal(t, http.StatusTooManyRequests, r.check(query))
	require.NotContains(t, r.said(), "not limited")
	write("domain: other\n")
	eventually(func() bool {
		return strings.Contains(r.said(), `level=WARN msg="domains have no rules any more: their requests are not limited" domains=[d]`)
	})
	r.end()
}

// TestRunSecured: with a password and TLS, and without the right ones.
func TestRunSecured(t *testing.T) {
	server := servers.StartServer(t, servers.Options{TLS: true, ClientCerts: true, Password: "canary"})
	ca, cert, key := server.TLSFiles()
	secure := []string{"-addrs", server.Addrs()[0], "-tls", "-tls-ca", ca, "-tls-cert", cert, "-tls-key", key, "-pool=fixed", "-pool-size=2", "-log-level=debug"}
	t.Setenv(passwordVariable, "canary")
	r := launch(t, secure...)
	require.Equal(t, http.StatusOK, r.check("domain=shop&descriptor=plan=paid,user=42"))
	code, text := r.get(r.addrs.HTTP + "/readyz")
	require.Equal(t, http.StatusOK, code, text)
	r.end()
	require.NotContains(t, r.said(), "canary")

	t.Setenv(passwordVariable, "canary2")
	err := run(t.Context(), secure, io.Discard, io.Discard, nil)
	require.ErrorContains(t, err, "WRONGPASS")
	require.NotContains(t, err.Error(), "canary")
}

// TestCertificateIsReadAgain: a client certificate that was renewed is used by the next connection, without a restart.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	var config *tls.Config
	var last []byte
	for range 2 {
		_, from, itsKey := servers.StartServer(t, servers.Options{TLS: true, ClientCerts: true}).TLSFiles()
		for to, from := range map[string]string{cert: from, key: itsKey} {
			text, err := os.ReadFile(from)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(to, text, 0o600))
		}
		if config == nil {
			s, err := parse([]string{"-addrs=a:1", "-tls", "-tls-cert", cert, "-tls-key", key}, io.Discard)
			require.NoError(t, err)
			c, _, err := s.config()
			require.NoError(t, err)
			config = c.Dialer.TLS
		}
		pair, err := config.GetClientCertificate(nil)
		require.NoError(t, err)
		require.NotEqual(t, last, pair.Certificate[0])
		last = pair.Certificate[0]
	}
}

// TestRunLazy: without a server the service starts, and limits fail open or closed, until there is one,
// on a unix socket. With -ready-needs-redis it is not ready until then.
func TestRunLazy(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "redis.sock")
	always := launch(t, "-addrs", "unix://"+socket+"?lazy=true")
	defer always.end()
	r := launch(t, "-addrs", "unix://"+socket+"?lazy=true", "-ready-needs-redis")
	defer r.end()
	const purchase = "domain=shop&descriptor=purchase=1"
	require.Equal(t, http.StatusOK, r.check("domain=shop&descriptor=user=42"))
	require.Equal(t, http.StatusServiceUnavailable, r.check(purchase))
	require.Equal(t, 1, strings.Count(r.said(), "limits are not enforced"), "one line for all")
	code, _ := r.get(r.addrs.HTTP + "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	code, text := always.get(always.addrs.HTTP + "/readyz")
	require.Equal(t, http.StatusOK, code, text)

	servers.StartServer(t, servers.Options{Directives: []string{"unixsocket " + socket}})
	require.Eventually(t, func() bool { return r.check(purchase) == http.StatusOK }, 20*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		code, _ := r.get(r.addrs.HTTP + "/readyz")
		return code == http.StatusOK
	}, 20*time.Second, 10*time.Millisecond)
}

// TestRunRefuses: what cannot start says why, and leaves nothing behind.
func TestRunRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, []byte("domain: d\nno: 1\n"), 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-rules", path}, path + ":2: unknown field"},
		{[]string{"-rules", path + "x"}, "it cannot be read"},
		{[]string{"-grpc-addr=nowhere"}, "gRPC listener: "},
		{[]string{"-http-addr=127.0.0.1:0", "-grpc-addr=127.0.0.1:0", "-admin-addr=127.0.0.1:99999"}, "admin listener: "},
		{[]string{"-addrs=127.0.0.1:1", "-connect-timeout=1s"}, "127.0.0.1:1"},
		{[]string{"-instances=-2"}, "Config.Instances = -2"},
	} {
		err := run(t.Context(), c.args, io.Discard, io.Discard, nil)
		require.ErrorContains(t, err, c.want)
	}
}
