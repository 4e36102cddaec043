package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

type vars = map[string]string

func TestNoVariables(t *testing.T) {
	for name, environment := range map[string]vars{
		"none":  nil,
		"empty": {"REDIS_URL": "", "REDIS_TLS": "", "REDIS_POOL_SIZE": "", "REDIS_TYPE": ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), environment, &out))
			require.Contains(t, out.String(), "3 nodes emulated")
			require.Equal(t, len(rules), strings.Count(out.String(), ": ok\n"))
			require.Contains(t, out.String(), "laned pool, ")
			require.NotContains(t, out.String(), "Note")
		})
	}
}

func TestCluster(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	for _, node := range e.Nodes() {
		node.RequireUserAuth("limiter", "canary-password")
	}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), vars{
		"REDIS_TYPE": "CLUSTER", "REDIS_URL": strings.Join(e.Addrs(), ", "), "REDIS_AUTH": "limiter:canary-password",
		"REDIS_SOCKET_TYPE": "TCP", "REDIS_POOL": "fixed", "REDIS_POOL_SIZE": "3", "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION": "true",
	}, &out))
	require.Equal(t, len(rules), strings.Count(out.String(), ": ok\n"))
	require.Contains(t, out.String(), "fixed pool, ")
	require.Contains(t, out.String(), " of 3 connections")
	require.NotContains(t, out.String(), "canary")
}

func TestOverTheLimit(t *testing.T) {
	hit := limiter(t, redistest.StartEmulated(t, 1))
	now := time.Unix(1_000_000, 0)
	for range rules[0].limit {
		require.NotContains(t, hit(now), "over the limit")
	}
	require.Contains(t, hit(now), "11 of 10 in 1s: over the limit")
}

// TestSteadyUser: the window of a user who does not rest ends all the same.
func TestSteadyUser(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	hit := limiter(t, e)
	now := time.Unix(1_000_000, 0)
	const pause = 250 * time.Millisecond // four hits in each of the first rule's windows
	for i := range 12 {
		require.Contains(t, hit(now), fmt.Sprintf("%d of 10 in 1s: ok", i%4+1))
		now = now.Add(pause)
		e.Nodes()[0].FastForward(pause)
	}
	e.Nodes()[0].FastForward(time.Minute)
	require.Empty(t, e.Nodes()[0].Keys(), "none is left behind")
}

// limiter returns a function that counts a hit at the time and says what the
// program says.
func limiter(t *testing.T, e *redistest.Emulated) func(now time.Time) string {
	client, err := cluster.Config{}.New(t.Context(), e.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return func(now time.Time) string {
		var out bytes.Buffer
		require.NoError(t, limit(t.Context(), client, now, 10*time.Second, &out))
		return out.String()
	}
}

// TestSentinelAndSocket: the primary that Sentinels name, and a server's socket.
func TestSentinelAndSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "socket") // the path must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "redis.sock")
	watched := servers.StartWithSentinels(t, servers.Options{Replicas: 1, Password: "canary-password"})
	servers.StartServer(t, servers.Options{Primaries: 1, Directives: []string{"unixsocket " + socket}})
	for _, environment := range []vars{
		{"REDIS_TYPE": "SENTINEL", "REDIS_URL": servers.PrimaryName + ", " + strings.Join(watched.SentinelAddrs(), ","),
			"REDIS_AUTH": "canary-password", "REDIS_SENTINEL_AUTH": "canary-password"},
		{"REDIS_SOCKET_TYPE": "unix", "REDIS_URL": socket},
	} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), environment, &out))
		require.NotContains(t, out.String(), "canary")
	}
}

// TestTLS: with its own name, without, by a stranger, and with a client's
// certificate.
func TestTLS(t *testing.T) {
	server := servers.StartServer(t, servers.Options{TLS: true, ClientCerts: true, Password: "canary-password"})
	ca, cert, key := server.TLSFiles()
	full := vars{
		"REDIS_URL": server.Addrs()[0], "REDIS_AUTH": "canary-password", "REDIS_TLS": "true",
		"REDIS_TLS_CACERT": ca, "REDIS_TLS_CLIENT_CERT": cert, "REDIS_TLS_CLIENT_KEY": key,
	}
	for _, c := range []struct {
		name   string
		change vars
		want   string // of the error; "" for none
	}{
		{"as it should be", nil, ""},
		{"without the name", vars{"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION": "true"}, ""},
		{"of a stranger", vars{"REDIS_TLS_CACERT": ""}, "certificate"},
		{"of a stranger without a name", vars{"REDIS_TLS_CACERT": "", "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION": "true"}, "certificate"},
		{"without a client's certificate", vars{"REDIS_TLS_CLIENT_CERT": "", "REDIS_TLS_CLIENT_KEY": ""}, "REDIS"},
		{"wrong password", vars{"REDIS_AUTH": "canary-wrong"}, "WRONGPASS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			environment := vars{"REDIS_TIMEOUT": "5s"}
			for _, from := range []vars{full, c.change} {
				for name, value := range from {
					environment[name] = value
				}
			}
			var out bytes.Buffer
			err := run(t.Context(), environment, &out)
			require.NotContains(t, out.String()+fmt.Sprint(err), "canary")
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			if c.want != "REDIS" {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

// TestHostnameVerification: a certificate for another name is refused, unless the
// name is not to be verified.
func TestHostnameVerification(t *testing.T) {
	server := servers.StartServer(t, servers.Options{TLS: true})
	ca, _, _ := server.TLSFiles()
	for skip, want := range map[string]string{"true": "", "false": "not redis.example"} {
		v, err := read(vars{"REDIS_URL": "a:1", "REDIS_TLS": "true", "REDIS_TLS_CACERT": ca, "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION": skip})
		require.NoError(t, err)
		config, err := v.tls()
		require.NoError(t, err)
		config.ServerName = "redis.example"
		conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", server.Addrs()[0])
		if want == "" {
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// TestErrors: each names the variable and what was expected, and none shows what
// may be a secret.
func TestErrors(t *testing.T) {
	noPEM := filepath.Join(t.TempDir(), "no.pem")
	require.NoError(t, os.WriteFile(noPEM, []byte("no certificate"), 0o600))
	for _, c := range []struct {
		environment vars
		want        []string
	}{
		{vars{"REDIS_POOL_SIZE": "many"}, []string{`REDIS_POOL_SIZE = "many": want a whole number`}},
		{vars{"REDIS_POOL_SIZE": "-1"}, []string{"REDIS_POOL_SIZE = -1: want 0 or more"}},
		{vars{"REDIS_POOL_SIZE": "x", "REDIS_TLS": "maybe", "REDIS_TIMEOUT": "soon"},
			[]string{"REDIS_POOL_SIZE", `REDIS_TLS = "maybe": want true or false`, `REDIS_TIMEOUT = "soon": want a duration`}},
		{vars{"REDIS_TIMEOUT": "-1s"}, []string{"REDIS_TIMEOUT = -1s: want 1ms or more"}},
		{vars{"REDIS_TIMEOUT": "100us"}, []string{"REDIS_TIMEOUT = 100µs: want 1ms or more"}},
		{vars{"REDIS_LANES": "5000"}, []string{"REDIS_LANES = 5000", "Laned.Lanes = 5000: must be at most 1024"}},
		{vars{"REDIS_POOL": "fixed", "REDIS_POOL_SIZE": "100000"}, []string{"REDIS_POOL_SIZE = 100000", "must be at most 65536"}},
		{vars{"REDIS_PIPELINE_WINDOW": "150"}, []string{`REDIS_PIPELINE_WINDOW = "150": want a duration such as 150us`}},
		{vars{"REDIS_TYPE": "SENTINEL", "REDIS_URL": "mymaster"}, []string{"REDIS_URL with REDIS_TYPE = sentinel", "name,host:port"}},
		{vars{"REDIS_TYPE": "SENTINEL", "REDIS_URL": "mymaster,u:canary@a:1"}, []string{"REDIS_URL: host 1: want host:port"}},
		{vars{"REDIS_TYPE": "SENTINEL", "REDIS_URL": "m,a:1", "REDIS_SENTINEL_AUTH": "canary:"}, []string{"REDIS_SENTINEL_AUTH: want user:password"}},
		{vars{"REDIS_URL": "a:1", "REDIS_SENTINEL_AUTH": "canary"}, []string{"REDIS_SENTINEL_AUTH with REDIS_TYPE = single"}},
		{vars{"REDIS_TYPE": "ring"}, []string{`REDIS_TYPE = "ring": want single or cluster or sentinel`}},
		{vars{"REDIS_SOCKET_TYPE": "unix", "REDIS_URL": "a:1"}, []string{"REDIS_SOCKET_TYPE = unix: want the absolute path"}},
		{vars{"REDIS_SOCKET_TYPE": "unix", "REDIS_URL": "/s", "REDIS_TYPE": "cluster"}, []string{"want REDIS_TYPE = single"}},
		{vars{"REDIS_SOCKET_TYPE": "pipe", "REDIS_URL": "a:1"}, []string{`REDIS_SOCKET_TYPE = "pipe": want tcp or unix`}},
		{vars{"REDIS_URL": "a:1,b:2"}, []string{"REDIS_URL has 2 hosts", "REDIS_TYPE = cluster"}},
		{vars{"REDIS_URL": "localhost"}, []string{`REDIS_URL: host 1 = "localhost": want host:port`}},
		{vars{"REDIS_URL": "redis://u:canary@h:1"}, []string{"REDIS_URL: host 1: want host:port", "REDIS_AUTH"}},
		{vars{"REDIS_URL": "a:1, u:canary@h:1", "REDIS_TYPE": "cluster"}, []string{"REDIS_URL: host 2: want host:port"}},
		{vars{"REDIS_AUTH": "canary:", "REDIS_URL": "a:1"}, []string{"REDIS_AUTH: want user:password"}},
		{vars{"REDIS_AUTH": "canary"}, []string{"REDIS_AUTH need REDIS_URL"}},
		{vars{"REDIS_POOL": "elastic"}, []string{`REDIS_POOL = "elastic": want laned or fixed or adaptive`}},
		{vars{"REDIS_POOL": "adaptive", "REDIS_POOL_MIN": "9", "REDIS_POOL_SIZE": "8"}, []string{"REDIS_POOL_MIN = 9: want at most REDIS_POOL_SIZE = 8"}},
		{vars{"REDIS_LANE_STRATEGY": "best"}, []string{`REDIS_LANE_STRATEGY = "best": want first-fit or`}},
		{vars{"REDIS_POOL_ON_EMPTY_BEHAVIOR": "panic"}, []string{`REDIS_POOL_ON_EMPTY_BEHAVIOR = "panic": want wait or error or create`}},
		{vars{"REDIS_POOL_ON_EMPTY_BEHAVIOR": "CREATE", "REDIS_POOL": "fixed"}, []string{"REDIS_POOL = adaptive"}},
		{vars{"REDIS_PERSECOND": "true"}, []string{"REDIS_PERSECOND = true", "want false"}},
		{vars{"REDIS_TLS_CACERT": "/ca.pem"}, []string{"want REDIS_TLS = true"}},
		{vars{"REDIS_TLS": "true", "REDIS_URL": "a:1", "REDIS_TLS_CLIENT_KEY": "/key.pem"}, []string{"REDIS_TLS_CLIENT_CERT and REDIS_TLS_CLIENT_KEY: want both"}},
		{vars{"REDIS_TLS": "true", "REDIS_URL": "a:1", "REDIS_TLS_CACERT": noPEM}, []string{"REDIS_TLS_CACERT", "in PEM"}},
		{vars{"REDIS_TLS": "true", "REDIS_URL": "a:1", "REDIS_TLS_CACERT": noPEM + "x"}, []string{"REDIS_TLS_CACERT", "no such file"}},
	} {
		var out bytes.Buffer
		err := run(t.Context(), c.environment, &out)
		require.Error(t, err, "%v", c.environment)
		for _, want := range c.want {
			require.ErrorContains(t, err, want)
		}
		require.NotContains(t, out.String()+err.Error(), "canary")
	}
}

// TestSecretIsNotShown: not by any verb, and not inside the struct.
func TestSecretIsNotShown(t *testing.T) {
	v, err := read(vars{"REDIS_AUTH": "limiter:canary", "REDIS_URL": "a:1"})
	require.NoError(t, err)
	config, err := v.config()
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		require.NotContains(t, fmt.Sprintf(verb, v), "canary", verb)
		require.NotContains(t, fmt.Sprintf(verb, v.Auth), "canary", verb)
		require.NotContains(t, fmt.Sprintf(verb, config), "canary", verb)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		environment vars
		want        pool.Config
	}{
		{vars{"REDIS_POOL": "fixed"}, pool.Fixed{}},
		{vars{"REDIS_POOL": "Fixed", "REDIS_POOL_SIZE": "7", "REDIS_POOL_ON_EMPTY_BEHAVIOR": "ERROR"},
			pool.Fixed{Size: 7, Options: pool.Options{MaxWaiters: -1}}},
		{vars{"REDIS_POOL": "adaptive", "REDIS_POOL_SIZE": "7", "REDIS_POOL_MIN": "2", "REDIS_MAX_WAITERS": "9"},
			pool.Adaptive{Min: 2, Max: 7, Options: pool.Options{MaxWaiters: 9}}},
	} {
		v, err := read(c.environment)
		require.NoError(t, err)
		config, err := v.config()
		require.NoError(t, err)
		require.Equal(t, c.want, config.Pool)
		require.Equal(t, 10*time.Second, config.Dialer.Timeout)
		require.Empty(t, v.notices())
	}
	for _, name := range strategyNames {
		v, err := read(vars{"REDIS_LANES": "3", "REDIS_LANE_STRATEGY": name})
		require.NoError(t, err)
		laned := v.pool().(pool.Laned)
		require.Equal(t, 3, laned.Lanes)
		require.NotNil(t, laned.Strategy, name)
	}
	for auth, want := range map[string]lanes.Dialer{
		"":          {},
		"pw":        {Password: "pw"},
		":p:w":      {Password: "p:w"},
		"user:p:w ": {Username: "user", Password: "p:w "},
	} {
		v := variables{Auth: secret(auth)}
		user, password := v.Auth.credentials()
		require.Equal(t, []string{want.Username, want.Password}, []string{user, password})
	}
}

func TestNotices(t *testing.T) {
	for name, c := range map[string]struct {
		environment vars
		want        string
	}{
		"window":   {vars{"REDIS_PIPELINE_WINDOW": "150us", "REDIS_PIPELINE_LIMIT": "8"}, "REDIS_PIPELINE_WINDOW, REDIS_PIPELINE_LIMIT"},
		"explicit": {vars{"REDIS_USE_EXPLICIT_PIPELINE": "true"}, "REDIS_USE_EXPLICIT_PIPELINE are not needed"},
		"size":     {vars{"REDIS_POOL_SIZE": "50"}, "REDIS_POOL_SIZE has no effect on lanes"},
		"lanes":    {vars{"REDIS_POOL": "fixed", "REDIS_LANES": "4"}, "REDIS_LANES has no effect"},
		"min":      {vars{"REDIS_POOL_MIN": "2"}, "REDIS_POOL_MIN has no effect"},
		"create":   {vars{"REDIS_POOL_ON_EMPTY_BEHAVIOR": "CREATE"}, "never empty"},
		"duration": {vars{"REDIS_POOL_ON_EMPTY_WAIT_DURATION": "1s"}, "until REDIS_TIMEOUT"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), c.environment, &out))
			require.Contains(t, out.String(), "Note: ")
			require.Contains(t, out.String(), c.want)
		})
	}
}

// TestNodeDown: the request is let through, the exit says that it failed, and so
// does the health check.
func TestNodeDown(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	e.Inject(0, func(cmd string, _ []string) string {
		if cmd == "INCRBY" {
			return "NOPERM not for you"
		}
		return ""
	})
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), vars{"REDIS_URL": e.Addrs()[0]}, &out), "NOPERM")
	require.Equal(t, len(rules), strings.Count(out.String(), "let through, not counted: "))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run(ctx, nil, &out), context.Canceled)
}

// TestReadmeNamesAllVariables, and none that there is not.
func TestReadmeNamesAllVariables(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	params, err := env.GetFieldParams(&variables{})
	require.NoError(t, err)
	known := make(map[string]bool)
	for _, p := range params {
		known[p.Key] = true
		require.Contains(t, string(readme), "`"+p.Key+"`")
	}
	for _, name := range regexp.MustCompile("`(REDIS_[A-Z_]+)`").FindAllStringSubmatch(string(readme), -1) {
		require.True(t, known[name[1]], name[1])
	}
}
