package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest/sim"
)

func TestMain(m *testing.M) { leak.Main(m) }

// ask sends a GET, or a POST if there is a body, and returns the status and the reply.
func ask(t *testing.T, url, body string) (status int, reply string) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// TestHTTP: what is asked for is done, and a mistake is named with what is allowed.
func TestHTTP(t *testing.T) {
	c := sim.Start(t, sim.Config{})
	server := httptest.NewServer(handler(c))
	defer func() { server.Close(); http.DefaultClient.CloseIdleConnections() }()
	for _, step := range []struct {
		path, body string
		status     int
		contains   string
	}{
		{"/", "", 200, "GET  /nodes"},
		{"/nodes", "", 200, `{"addr":"10.0.0.4:6379","replica":true}`},
		{"/key?key=b", "", 200, `{"value":null,"node":"10.0.0.1:6379","lost_writes":false}`},
		{"/faults", `[{"kind": "Failover", "node": "10.0.0.1:6379"}]`, 200, ""},
		{"/key?key=b", "", 200, `"node":"10.0.0.4:6379"`},
		{"/faults", `[{"kind": "Isolate", "node": "10.0.0.4:6379"}, {"at": "2ms", "for": "1ms", "kind": "Host.Delay", "host": "h", "by": "1s"}]`, 200, ""},
		{"/faults", `[{"kind": "Failover", "node": "10.0.0.4:6379"}]`, 200, ""},
		{"/key?key=b", "", 200, `"node":"10.0.0.1:6379"`},
		{"/heal", " ", 200, ""},

		{"/key", "", 400, "key is missing: want GET /key?key=user:42"},
		{"/trouble?seed=-1&for=5s", "", 400, `seed = "-1": must be a number from 0 on`},
		{"/trouble?seed=1&for=5", "", 400, `for = "5": must be a duration up to 1h0m0s, such as 5s`},
		{"/trouble?seed=1&for=2h", "", 400, `for = "2h": must be`},
		{"/faults", `[{"kind": "Kil"}]`, 400, `{Kind: "Kil"}, has no kind of fault: there are Kill, `},
		{"/faults", `[{"nod": "x"}]`, 400, `unknown field "nod": want a list of faults, such as [{"kind": "Delay", "node": "10.0.0.1:6379"`},
		{"/faults", `[{"for": "5"}]`, 400, `missing unit in duration "5": want a list`},
		{"/faults", `[] x`, 400, `more behind the list: want a list`},
		{"/faults", "", 405, "Method Not Allowed"},
	} {
		status, reply := ask(t, server.URL+step.path, step.body)
		require.Equal(t, step.status, status, step.path+step.body+reply)
		require.Contains(t, reply, step.contains, step.path)
	}
	_, list := ask(t, server.URL+"/trouble?seed=7&for=20ms", "")
	_, again := ask(t, server.URL+"/trouble?seed=7&for=20ms", "")
	require.Equal(t, list, again)
	status, reply := ask(t, server.URL+"/faults", list)
	require.Equal(t, 200, status, reply)
}

// TestRun: redis-cli works with the cluster, which ends when it is told to.
func TestRun(t *testing.T) {
	servers.RequireServer(t)
	cli, err := exec.LookPath("redis-cli") // is installed with it
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-port", "0", "-http", "127.0.0.1:0", "-replicas", "0", "-primaries", "2"}, in)
	}()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	addrs := strings.Fields(lines.Text())[1:]
	require.Len(t, addrs, 2)
	require.True(t, lines.Scan())
	url := strings.Fields(lines.Text())[1]

	_, port, _ := strings.Cut(addrs[0], ":")
	for _, key := range []string{"a", "b"} {
		reply, err := exec.CommandContext(ctx, cli, "-c", "-p", port, "INCRBY", key, "7").Output()
		require.NoError(t, err)
		require.Equal(t, "7\n", string(reply))
		_, state := ask(t, url+"/key?key="+key, "")
		require.Contains(t, state, `"value":"7"`)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	require.NoError(t, <-ended)
}

func TestRunRefuses(t *testing.T) {
	for args, text := range map[string]string{
		"x":               `argument "x": there are only flags`,
		"-primaries 200":  "Config.Primaries = 200: must be 0 to 100",
		"-server redis-9": `Config.Server = "redis-9": must be`,
		"-server x":       `Config.Server = "x": must be empty, "redis-8.10"`,
		"-host localhost": `Config.Listen = "localhost:7000": must be an IPv4 address`,
		"-port 0 -http x": "missing port in address",
	} {
		require.ErrorContains(t, run(t.Context(), strings.Fields(args), os.Stdout), text)
	}
}
