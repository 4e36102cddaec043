package cluster_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
)

// unknownNames give commands names that the table does not hold, as modules do.
var unknownNames = []string{
	"rename-command EVAL X.EVAL", "rename-command BLPOP X.BLPOP", "rename-command DBSIZE X.DBSIZE", "rename-command OBJECT X.OBJECT",
}

// TestUnknownCommandsAreAskedFor: the first try of a command that only the server
// knows reaches the owner of its keys, one that blocks is lent a connection, and
// each is asked for once.
func TestUnknownCommandsAreAskedFor(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Directives: unknownNames})
	ctx := within(t, 30*time.Second)
	client := open(t, onlyShared, real.Addrs())
	if real.Major() < 7 {
		learnPositions(t, ctx, client, real)
		return
	}
	for i := range 20 {
		key := fmt.Sprint("unknown", i)
		var got string
		require.NoError(t, client.Do(ctx, radix.Cmd(&got, "x.eval", "return KEYS[1]", "1", key)))
		require.Equal(t, key, got)
		p := pipeline.New(client)
		by := p.Cmd("X.EVAL", "return KEYS[1]", "1", key)
		p.Append(radix.Cmd(&got, "X.EVAL", "return KEYS[1]..'!'", "1", key))
		p.Cmd("X.DBSIZE")
		require.NoError(t, p.Do(ctx))
		text, err := by.Text()
		require.NoError(t, err)
		require.Equal(t, []string{key, key + "!"}, []string{text, got})
	}
	require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, "X.EVAL", "return 1", "2", "a", "b")), redislanes.ErrCrossSlot)
	blocking := pipeline.New(client)
	count := blocking.IncrBy("k", 1)
	blocking.Cmd("X.BLPOP", "{b}list", "0")
	require.ErrorIs(t, blocking.Do(ctx), cause.ErrNotPipelinable)
	require.ErrorIs(t, count.Err(), redislanes.ErrNotSent)

	done := make(chan error, 1)
	go func() { done <- client.Do(ctx, radix.Cmd(nil, "X.BLPOP", "{b}list", "0")) }()
	for blocked(t, client) == 0 {
		require.Empty(t, done)
	}
	requireFreeLanes(t, client)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "RPUSH", "{b}list", "v")))
	require.NoError(t, <-done)

	require.Zero(t, client.Stats().Moved)
	asked := 0
	for _, n := range real.Nodes() {
		asked += stat(t, ctx, n, "command|info")
	}
	require.GreaterOrEqual(t, asked, 3, "each of three names once")
	require.LessOrEqual(t, asked, 3*3, "another node is asked, too, while one takes long to answer")
}

// learnPositions: servers before Redis 7 tell where the keys of a command are only if
// they always are at the same place, and not what blocks.
func learnPositions(t *testing.T, ctx context.Context, client *cluster.Client, real *servers.Cluster) {
	t.Helper()
	for i := range 20 {
		key := fmt.Sprint("unknown", i)
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", key, "1")))
		var got string
		require.NoError(t, client.Do(ctx, radix.Cmd(&got, "x.object", "ENCODING", key)))
		require.Equal(t, "int", got)
		p := pipeline.New(client)
		by := p.Cmd("X.OBJECT", "ENCODING", key)
		p.Cmd("X.DBSIZE")
		require.NoError(t, p.Do(ctx))
		text, err := by.Text()
		require.NoError(t, err)
		require.Equal(t, "int", text)
	}
	require.Zero(t, client.Stats().Moved)
	asked := 0
	for _, n := range real.Nodes() {
		asked += stat(t, ctx, n, "command")
	}
	require.Equal(t, 2, asked)
}

// TestNobodyTellsOfACommand: without the right to ask, the first argument is the
// key, and a redirect of another slot is not followed.
func TestNobodyTellsOfACommand(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Username: "limited", Password: "canary",
		Directives: append([]string{"rename-command GET X.GET"}, unknownNames...)})
	ctx := within(t, 30*time.Second)
	for _, n := range real.Nodes() {
		require.NoError(t, n.Do(ctx, nil, "ACL", "SETUSER", "limited", "-command"))
	}
	client := open(t, cluster.Config{Dialer: lanes.Dialer{Username: "limited", Password: "canary"}}, real.Addrs())
	for i := range 20 {
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "X.GET", fmt.Sprint("k", i))))
	}
	require.Zero(t, client.Stats().Moved)
	refused := 0
	for i := range 20 {
		if err := client.Do(ctx, radix.Cmd(nil, "X.EVAL", "return 1", "1", fmt.Sprint("k", i))); err != nil {
			require.ErrorIs(t, err, redislanes.ErrRefused)
			refused++
		}
	}
	require.Positive(t, refused)
}

// TestAskingForACommandEndsWithTheContext: who waits for the answer leaves at its
// deadline, and nothing was sent.
func TestAskingForACommandEndsWithTheContext(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(io.Writer, []string) bool { return true }
	f.start()
	client := open(t, cluster.Config{}, []string{f.addr()})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := client.Do(ctx, radix.Cmd(nil, "NO.SUCH", "canary"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.NotContains(t, err.Error(), "canary")
}
