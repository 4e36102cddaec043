package counter_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit/internal/counter"
	"github.com/redislanes/redislanes/pipeline"
)

// onServers runs the test on the server that is started where nothing else is asked for, and on those that
// the environment lists.
func onServers(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, binary := range append([]string{""}, filepath.SplitList(os.Getenv(servers.ServersEnv))...) {
		t.Run("server "+filepath.Base(filepath.Dir(binary)), func(t *testing.T) {
			t.Parallel()
			test(t, startRig(t, binary))
		})
	}
}

// A rig is a server and a client.
type rig struct {
	t      *testing.T
	client *cluster.Client
	has    bool // INCREX
	old    bool // SET refuses NX with GET
}

func startRig(t *testing.T, binary string) *rig {
	server := servers.StartServer(t, servers.Options{Binary: binary})
	client, err := cluster.Config{}.New(t.Context(), server.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r := &rig{t: t, client: client}
	r.has = client.Cmd(t.Context(), "INCREX", "none", "UBOUND", 0).Err() == nil
	r.old = client.Cmd(t.Context(), "SET", "none", 1, "EX", 1, "NX", "GET").Err() != nil
	r.cmd("DEL", "none")
	return r
}

func (r *rig) cmd(name string, args ...any) pipeline.Reply {
	reply := r.client.Cmd(r.t.Context(), name, args...)
	require.NoError(r.t, reply.Err())
	return reply
}

// take runs all rounds, and returns how many there were.
func (r *rig) take(s *counter.Server, take *counter.Take) (rounds int) {
	p := pipeline.New(r.client)
	for again := true; again; rounds++ {
		p.Reset()
		s.Append(p, take)
		_ = p.Do(r.t.Context())
		again = s.Read(take)
		require.Less(r.t, rounds, 9)
	}
	return rounds
}

// fixed returns a take of a fixed window.
func fixed(key string, n, bound int64) counter.Take {
	return counter.Take{Key: key, N: n, Bound: bound, TTL: time.Minute}
}

// sliding returns a take of a sliding window half of which is over.
func sliding(key string, n, bound int64) counter.Take {
	return counter.Take{Key: "{" + key + "}2", Before: "{" + key + "}1", N: n, Bound: bound, Left: 30 * time.Minute, Length: time.Hour, TTL: 2 * time.Hour}
}

// ran returns the names of the commands that the server has run for takes since the last call, in alphabetical order.
func (r *rig) ran() string {
	info, err := r.cmd("INFO", "commandstats").Text()
	require.NoError(r.t, err)
	r.cmd("CONFIG", "RESETSTAT")
	var names []string
	for line := range strings.Lines(info) {
		name, stats, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		calls, _, _ := strings.Cut(stats, ",")
		if name = strings.TrimSpace(name); strings.HasPrefix(line, "cmdstat_") && !strings.ContainsAny(name, "|") && name != "info" && name != "ping" && name != "config" {
			names = append(names, name+" "+calls)
		}
	}
	return strings.Join(names, ", ")
}
