package limit

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	logs "github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestServerTimeRefused: New fails if all servers refuse TIME, and not if one allows it.
func TestServerTimeRefused(t *testing.T) {
	t.Parallel()
	c := servers.StartCluster(t, servers.Options{Primaries: 3})
	allow := func(n *servers.Node, rights ...string) {
		acl := append([]string{"SETUSER", "limiter", "reset", "on", ">pw", "~*", "+@all", "-time"}, rights...)
		require.NoError(t, n.Do(t.Context(), nil, "ACL", acl...))
	}
	for _, n := range c.Nodes() {
		allow(n)
	}
	client, err := cluster.Config{Dialer: lanes.Dialer{Username: "limiter", Password: "pw"}}.New(t.Context(), c.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	config := Config{ServerTime: true, Budget: 10 * time.Second}
	_, err = config.New(client)
	require.ErrorContains(t, err, "limit: Config.ServerTime = true: the servers refuse TIME: allow it to the user, or leave ServerTime out: ")
	require.ErrorContains(t, err, "NOPERM")
	allow(c.Nodes()[1], "+time")
	l, err := config.New(client)
	require.NoError(t, err)
	require.NotNil(t, l.servers.known.Load())
	require.NoError(t, l.Close())
}

// lines keeps those of a log that have a text.
type lines struct {
	mu   sync.Mutex
	text string
	n    int
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n += bytes.Count(line, []byte(l.text))
	return len(line), nil
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// TestServerTimeUnknown: if no server answers New, the log says once that the clock of the process
// counts. The limiter follows the servers once they answer.
func TestServerTimeUnknown(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	log := &lines{text: logs.OwnClock.Message}
	client, err := cluster.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}.New(t.Context(), server.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	require.NoError(t, server.Nodes()[0].Pause())
	l, err := Config{ServerTime: true, Budget: 20 * time.Millisecond}.New(client)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	require.Equal(t, 1, log.count())
	require.Error(t, l.readTime(20*time.Millisecond, time.Now))
	require.NoError(t, server.Nodes()[0].Resume())
	require.Eventually(t, func() bool { return l.servers.known.Load() != nil }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, 1, log.count())
}
