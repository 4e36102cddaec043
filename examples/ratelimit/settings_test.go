package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/pool"
)

// TestSettings: flags of the client, the pools and the limits become settings of the library.
func TestSettings(t *testing.T) {
	t.Setenv(passwordVariable, "canary")
	for kind, want := range map[string]pool.Config{
		"fixed":    pool.Fixed{Size: 3, Options: pool.Options{MaxWaiters: 7, SuspectAfter: time.Second, StallTimeout: 2 * time.Second, MaxAge: time.Hour}},
		"adaptive": pool.Adaptive{Max: 3, Options: pool.Options{MaxWaiters: 7, SuspectAfter: time.Second, StallTimeout: 2 * time.Second, MaxAge: time.Hour}},
		"laned":    pool.Laned{Lanes: 3, Options: pool.Options{MaxWaiters: 7, SuspectAfter: time.Second, StallTimeout: 2 * time.Second, MaxAge: time.Hour}},
	} {
		s, err := parse([]string{
			"-addrs", "redis-sentinel://a:1, b:2/1?protocol=3&timeout=1s&master_name=mymaster&lazy=true", "-username", "u", "-no-set-info",
			"-pool", kind, "-pool-size", "3", "-max-waiters", "7", "-suspect-after", "1s", "-stall-timeout", "2s", "-max-age", "1h",
			"-retry-window", "2s", "-addr-map", "a:1=c:3;b:2=d:4",
			"-prefix", "p:", "-budget", "7ms", "-near-cache", "8", "-instances", "9", "-server-time", "-no-leases",
		}, io.Discard)
		require.NoError(t, err, kind)
		c, addrs, err := s.config()
		require.NoError(t, err)
		require.Equal(t, want, c.Pool)
		require.Equal(t, 2*time.Second, c.RetryWindow)
		require.True(t, c.Dialer.NoSetInfo)
		require.Equal(t, []string{"u", "canary"}, []string{c.Dialer.Username, c.Dialer.Password})
		require.Equal(t, limit.Config{Prefix: "p:", Budget: 7 * time.Millisecond, NearCache: 8, Instances: 9, ServerTime: true}, s.Limit.config())
		require.Equal(t, "c:3", c.AddrMap("a:1"))
		require.Equal(t, "x:9", c.AddrMap("x:9"))
		require.Equal(t, []string{"a:1", "b:2"}, addrs)
		of, err := s.limitOf(new(limit.Limiter))(limit.Rule{Name: "l", Quota: 1, Window: time.Second})
		require.NoError(t, err)
		require.True(t, of.Rule().NoLease)
	}
}

// TestDefaults: without flags, the library's settings are its own defaults, also where
// a flag shows a number.
func TestDefaults(t *testing.T) {
	s, err := parse(nil, io.Discard)
	require.NoError(t, err)
	c, _, err := s.config()
	require.NoError(t, err)
	require.Equal(t, pool.Laned{}, c.Pool)
	require.Equal(t, limit.Config{Prefix: "limit:", Budget: 100 * time.Millisecond, NearCache: 50_000}, s.Limit.config())
	require.False(t, s.Shed.On)
	require.Equal(t, "127.0.0.1:6070", s.Listen.AdminAddr)
}

func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"RATELIMIT_ADDRS": "a:1,b:2", "RATELIMIT_POOL": "adaptive", "RATELIMIT_POOL_SIZE": "12", "RATELIMIT_MAX_WAITERS": "5",
		"RATELIMIT_GRPC_MAX_CONNECTION_AGE": "1h", "RATELIMIT_SHED": "true", "RATELIMIT_LOG_LEVEL": "warn", "RATELIMIT_PPROF": "false",
		"RATELIMIT_BUDGET": "5ms", "RATELIMIT_PASSWORD": "canary", "RATELIMIT_STALL_TIMEOUT": "2s",
	} {
		t.Setenv(name, value)
	}
	s, err := parse([]string{"--stall-timeout=4s"}, io.Discard)
	require.NoError(t, err)
	c, _, err := s.config()
	require.NoError(t, err)
	require.Equal(t, 12, c.Pool.(pool.Adaptive).Max)
	require.Equal(t, 5, c.Pool.(pool.Adaptive).MaxWaiters)
	require.Equal(t, 4*time.Second, c.Pool.(pool.Adaptive).StallTimeout, "a flag goes before its variable")
	require.Equal(t, "canary", c.Dialer.Password)
	require.Equal(t, time.Hour, s.Listen.MaxConnectionAge)
	require.True(t, s.Shed.On)
	require.False(t, s.Listen.Pprof)
	require.Equal(t, 5*time.Millisecond, s.Limit.Budget)
	require.NotContains(t, fmt.Sprintf("%v %+v", s, s), "canary")
}

func TestPasswordFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(path, []byte("one\n"), 0o600))
	s, err := parse([]string{"-addrs", "a:1", "-username", "u", "-password-file", path}, io.Discard)
	require.NoError(t, err)
	c, _, err := s.config()
	require.NoError(t, err)
	for _, want := range []string{"one", "two"} {
		require.NoError(t, os.WriteFile(path, []byte(want+"\n"), 0o600))
		user, password, err := c.Dialer.Credentials(context.Background())
		require.NoError(t, err)
		require.Equal(t, "u", user)
		require.Equal(t, want, password)
	}
}

func TestMistakes(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-no-such-flag"}, "no-such-flag"},
		{[]string{"rules.yaml"}, "rules.yaml"},
		{[]string{"-password", "canary"}, "password"},
		{[]string{"-addrs", "redis://u:canary@a:1:2"}, "--addrs: cluster: ParseURL: address 1: want host or host:port"},
		{[]string{"-pool", "elastic"}, "--pool"},
		{[]string{"-max-age=5ms"}, "MaxAge = 5ms: must be"},
		{[]string{"-pool-size=-3"}, "Laned.Lanes = -3: must not be negative"},
		{[]string{"-max-waiters=many"}, "max-waiters"},
		{[]string{"-stall-timeout=3"}, "stall-timeout"},
		{[]string{"-addrs=redis://a?protocol=4"}, "Dialer.Protocol = 4: must be 2 or 3"},
		{[]string{"-drain-delay=-1s"}, "--drain-delay = -1s: must be at least 0s"},
		{[]string{"-shutdown-timeout=0s"}, "--shutdown-timeout = 0s: must be at least 1ms"},
		{[]string{"-max-message=5"}, "--max-message = 5: must be at least 1024"},
		{[]string{"-shed", "-shed-min=9", "-shed-initial=8"}, "--shed-min = 9, --shed-initial = 8, --shed-max = 10000: must be at least 1, and in this order"},
		{[]string{"-shed-min=9"}, "need --shed"},
		{[]string{"-quota-ttl=1500ms"}, "--quota-ttl = 1.5s: must be whole seconds, at least 1"},
		{[]string{"-quota-ttl=1s", "-quota-delivery=501ms"}, "--quota-delivery = 501ms: must be at least 10ms, and at most half of --quota-ttl"},
		{[]string{"-budget=20s"}, "--budget = 20s: must be less than 10s"},
		{[]string{"-prefix=a{b"}, `the brace after "a" is not closed`},
		{[]string{"-tls"}, "need --addrs"},
		{[]string{"-username=u"}, "need --addrs"},
		{[]string{"-addrs=a:1", "-username=u"}, `Dialer.Username = "u" without a Password`},
		{[]string{"-addrs=a:1", "-tls-ca=ca.pem"}, "need --tls"},
		{[]string{"-addrs=a:1", "-tls", "-tls-cert=c.pem"}, "--tls-cert and --tls-key: want both or neither"},
		{[]string{"-addrs=a:1", "-tls", "-tls-ca=" + empty}, "there is no certificate in PEM in it"},
		{[]string{"-addrs=a:1", "-tls", "-tls-ca=" + empty + "x"}, "--tls-ca: open"},
		{[]string{"-addrs=a:1", "-tls", "-tls-cert=" + empty, "-tls-key=" + empty}, "--tls-cert and --tls-key: tls:"},
		{[]string{"-addrs=a:1", "-password-file=" + empty}, "the file is empty"},
		{[]string{"-addrs=a:1", "-password-file=" + empty + "x"}, "--password-file: open"},
		{[]string{"-log-level=loud"}, "log-level"},
		{[]string{"-log-format=xml"}, "log-format"},
	} {
		_, err := parse(c.args, io.Discard)
		require.ErrorContains(t, err, c.want, "%v", c.args)
		require.ErrorContains(t, err, "(-help lists the settings)")
		if c.want != "password" {
			require.NotContains(t, err.Error(), "canary")
		}
	}
	t.Setenv("RATELIMIT_POOL_SIZE", "many")
	_, err := parse(nil, io.Discard)
	require.ErrorContains(t, err, "RATELIMIT_POOL_SIZE")
}
