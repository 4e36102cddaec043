package counter_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit/internal/counter"
	"github.com/redislanes/redislanes/limit/internal/window"
	"github.com/redislanes/redislanes/pipeline"
)

// onServers runs the test on all servers.
func onServers(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	for _, binary := range servers.Servers(t) {
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
	addr   string
	has    bool // INCREX
	old    bool // SET refuses NX with GET
}

func startRig(t *testing.T, binary string) *rig {
	t.Helper()
	server := servers.StartServer(t, servers.Options{Binary: binary})
	client, err := cluster.Config{}.New(t.Context(), server.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r := &rig{t: t, client: client, addr: server.Addrs()[0]}
	r.has = client.Cmd(t.Context(), "INCREX", "none", "UBOUND", 0).Err() == nil
	r.old = client.Cmd(t.Context(), "SET", "none", 1, "EX", 1, "NX", "GET").Err() != nil
	r.cmd("DEL", "none")
	var s counter.Server // the server learns the script
	some := sliding("none", 2, 1)
	r.take(&s, &some)
	return r
}

func (r *rig) cmd(name string, args ...any) pipeline.Reply {
	reply := r.client.Cmd(r.t.Context(), name, args...)
	require.NoError(r.t, reply.Err())
	return reply
}

// get returns the value of a key, 0 if there is none.
func (r *rig) get(key string) int64 {
	reply := r.cmd("GET", key)
	if reply.IsNull() {
		return 0
	}
	n, err := reply.Int()
	require.NoError(r.t, err)
	return n
}

// ttl returns how many seconds the key lives; -1: for ever, -2: there is none.
func (r *rig) ttl(key string) int64 {
	n, err := r.cmd("TTL", key).Int()
	require.NoError(r.t, err)
	return n
}

// round runs one round.
func (r *rig) round(s *counter.Server, take *counter.Take) (again bool) {
	p := pipeline.New(r.client)
	s.Append(p, take)
	_ = p.Do(r.t.Context()) // the replies have their errors
	return s.Read(take)
}

// take runs all rounds, and returns how many there were.
func (r *rig) take(s *counter.Server, take *counter.Take) (rounds int) {
	for rounds = 1; r.round(s, take); rounds++ {
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
	return counter.Take{Key: key, Before: "{" + key + "}before", N: n, Bound: bound, Window: window.Window{Length: time.Hour, Elapsed: 30 * time.Minute}, TTL: 2 * time.Hour}
}

// ran returns which commands the server has run since the last call, with those that scripts have called.
func (r *rig) ran() string {
	info, err := r.cmd("INFO", "commandstats").Text()
	require.NoError(r.t, err)
	r.cmd("CONFIG", "RESETSTAT")
	var names []string
	for line := range strings.Lines(info) {
		name, stats, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if slices.Contains([]string{"set", "get", "incrby", "increx", "eval", "evalsha", "expire", "pttl"}, name) {
			calls, _, _ := strings.Cut(stats, ",")
			names = append(names, fmt.Sprintf("%s %s", name, calls))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
