package monitoring

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type labels map[string]string

// TestInhibition: of the alerts that one cause brings about, an Alertmanager sends those about the cause and about
// what callers notice. Alerts of other nodes and services are sent.
func TestInhibition(t *testing.T) {
	t.Parallel()
	url := startAlertmanager(t)
	severity := severities(t)
	for i, scene := range []struct{ fire, sent []string }{
		{ // a primary is killed, and no replica takes over
			[]string{
				"RedislanesLimitsWithoutRedis", "RedislanesSomeLimitsWithoutRedis", "RedislanesRequestsFail", "RedislanesNodeDown", "RedislanesNodeStalls",
				"RedislanesDialsFail", "RedislanesConnectionsLost", "RedislanesClusterDown", "RedislanesDeadlineNear", "RedislanesRequestSlow", "RedisDown",
			},
			[]string{"RedislanesLimitsWithoutRedis", "RedislanesNodeDown"},
		},
		{ // a full server refuses writes
			[]string{"RedislanesServerErrors", "RedislanesRequestsFail", "RedisMemoryNearlyFull", "RedislanesLimitsWithoutRedis"},
			[]string{"RedisMemoryNearlyFull", "RedislanesLimitsWithoutRedis", "RedislanesServerErrors"},
		},
		{ // a pool is too small
			[]string{"RedislanesPoolSaturated", "RedislanesWaiters", "RedislanesWaitLong", "RedislanesWaitTail", "RedislanesRequestSlow"},
			[]string{"RedislanesPoolSaturated", "RedislanesRequestSlow"},
		},
	} {
		instance, node := "service-"+string(rune('a'+i)), "node-"+string(rune('a'+i))
		fire := []labels{
			{"alertname": "RedislanesDialsFail", "instance": instance, "node": "another"},
			{"alertname": "RedislanesRequestsFail", "instance": "another"},
		}
		for _, name := range scene.fire {
			require.NotEmpty(t, severity[name], "there is no alert %s", name)
			fire = append(fire, labels{"alertname": name, "instance": instance, "node": node, "severity": severity[name]})
		}
		post(t, url, fire)
		want := slices.Sorted(slices.Values(append(scene.sent, "RedislanesDialsFail", "RedislanesRequestsFail")))
		var sent []string
		require.Eventually(t, func() bool {
			sent = active(t, url, instance)
			return slices.Equal(want, sent)
		}, 10*time.Second, 20*time.Millisecond, "want %v", want)
	}
}

// TestMatchersNameAlerts: each name in the inhibit rules is that of an alert.
func TestMatchersNameAlerts(t *testing.T) {
	text, err := os.ReadFile("alertmanager.yml")
	require.NoError(t, err)
	matchers := regexp.MustCompile(`(?m)^ .*_matchers: .*$`).FindAllString(string(text), -1)
	require.NotEmpty(t, matchers)
	names := severities(t)
	for _, m := range matchers {
		for _, word := range regexp.MustCompile(`\b[A-Z]\w+`).FindAllString(m, -1) {
			require.True(t, word == "Redislanes" || names[word] != "" || names["Redislanes"+word] != "", word)
		}
	}
}

// severities returns that of each alert, by its name.
func severities(t *testing.T) map[string]string {
	text, err := os.ReadFile("alerts.yaml")
	require.NoError(t, err)
	all := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?s)- alert: (\w+)\n.*?severity: (\w+)\n`).FindAllSubmatch(text, -1) {
		all[string(m[1])] = string(m[2])
	}
	require.NotEmpty(t, all)
	return all
}

// startAlertmanager returns the URL of an Alertmanager, which sends nothing for the first 30 s.
func startAlertmanager(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		require.NotEqual(t, "1", os.Getenv(requireExportersEnv), "%v, and %s=1", err, requireExportersEnv)
		t.Skip(err)
	}
	folder := t.TempDir()
	log, err := os.Create(folder + "/log")
	require.NoError(t, err)
	defer log.Close()
	cmd := exec.CommandContext(t.Context(), program, "--config.file=alertmanager.yml", "--storage.path="+folder,
		"--web.listen-address=127.0.0.1:0", "--cluster.listen-address=")
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // t's context has ended it by then
	var said []byte
	listening := regexp.MustCompile(`"?Listening on"? address=(127\.0\.0\.1:\d+)`)
	require.Eventually(t, func() bool {
		said, err = os.ReadFile(log.Name())
		return err == nil && listening.Match(said)
	}, 30*time.Second, 50*time.Millisecond, "%s", &said)
	return "http://" + string(listening.FindSubmatch(said)[1])
}

func post(t *testing.T, url string, fire []labels) {
	t.Helper()
	var all []map[string]labels
	for _, l := range fire {
		all = append(all, map[string]labels{"labels": l})
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	reply, err := http.Post(url+"/api/v2/alerts", "application/json", bytes.NewReader(text))
	require.NoError(t, err)
	defer reply.Body.Close()
	require.Equal(t, http.StatusOK, reply.StatusCode)
}

// active returns the names of the alerts of an instance, and of another one, that are not inhibited.
func active(t *testing.T, url, instance string) (names []string) {
	reply, err := http.Get(url + "/api/v2/alerts?inhibited=false&filter=instance%3D~%22another%7C" + instance + "%22")
	require.NoError(t, err)
	defer reply.Body.Close()
	var all []struct{ Labels labels }
	require.NoError(t, json.NewDecoder(reply.Body).Decode(&all))
	for _, a := range all {
		names = append(names, a.Labels["alertname"])
	}
	slices.Sort(names)
	return names
}
