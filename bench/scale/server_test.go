package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/pages"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/pipeline"

	"github.com/redislanes/redislanes/bench/evidence"
	"github.com/redislanes/redislanes/bench/internal/child"
)

// TestMain is also the child process of tests that start one.
func TestMain(m *testing.M) {
	child.Main()
	leak.Main(m)
}

// TestNullServersServeTheClient: the whole client works beside servers without work, and
// every command has one reply.
func TestNullServersServeTheClient(t *testing.T) {
	require.NoError(t, withServers(t.Context(), 5, func(addrs []string) error {
		client, err := cluster.Config{}.New(t.Context(), addrs[:1])
		require.NoError(t, err)
		defer client.Close()
		require.Equal(t, cluster.SlotCount, client.Stats().Slots)
		for range 20 {
			require.NoError(t, callers(client, 1, 200)[0](t.Context()))
		}
		p := pipeline.New(client)
		pong := p.Cmd("PING") // on a connection that counts
		require.NoError(t, p.Do(t.Context()))
		text, err := pong.Text()
		require.NoError(t, err)
		require.Equal(t, "PONG", text)
		u, err := run(t.Context(), client, 8, 10, 50*time.Millisecond)
		require.NoError(t, err)
		require.Positive(t, u.Requests)
		require.Len(t, client.Stats().Nodes, 5)
		return nil
	}))
}

// TestSessionAnswersEachCommandOnce hands over a stream in pieces of all sizes.
func TestSessionAnswersEachCommandOnce(t *testing.T) {
	var stream []byte
	for range 2 {
		for range 25 {
			stream = resp.AppendCommand(stream, "INCRBY", "some:key", "1")
			stream = resp.AppendCommand(stream, "EXPIRE", "some:key", "60")
		}
		stream = resp.AppendCommand(stream, "CLUSTER", "MYID") // as a client asks from time to time
		stream = resp.AppendCommand(stream, "PING")
	}
	for size := 1; size <= len(stream); size += 13 {
		s := session{cluster: &nullCluster{ids: []string{"me"}}}
		var replies strings.Builder
		var have []byte
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			have = append(have, rest[:n]...)
			rest = rest[n:]
			took, err := s.answer(&replies, have)
			require.NoError(t, err)
			have = have[took:]
		}
		require.Equal(t, strings.Repeat(strings.Repeat(":1\r\n", 50)+"$2\r\nme\r\n+PONG\r\n", 2), replies.String(), size)
	}
}

// TestMeasureSmall measures everything on a small scale, and makes the tables from the
// lines of the raw file.
func TestMeasureSmall(t *testing.T) {
	name := filepath.Join(t.TempDir(), "raw.jsonl")
	require.NoError(t, measure(t.Context(), name,
		clientPlan{procs: []int{1, 2}, shapes: [][2]int{{1, 1}, {3, 4}}, keys: []int{1, 10}, callers: []int{1, 20}, during: 20 * time.Millisecond, rounds: 2}.measure,
		largePlan{primaries: []int{3, 50}, rounds: 1, during: 20 * time.Millisecond}.measure,
		footprintPlan{primaries: []int{1, 2}, lanes: []int{1, 4}, fixed: []int{2}, rounds: 1, during: 20 * time.Millisecond}.measure,
	))
	for table, want := range map[string]string{
		"source": ", commit ", "client": "| 10   | 3 × 4         | 20      | ", "cluster": "| connections in the end",
		"memory": "| primaries | 1 lane ", "connections": "| Fixed 2 |",
	} {
		text, err := tableOf(pages.Table{Files: []string{name}, Name: table})
		require.NoError(t, err)
		require.Contains(t, text, want)
	}
	_, err := tableOf(pages.Table{Files: []string{name}, Name: "else"})
	require.ErrorContains(t, err, "want one of")
	r, err := readRaw(name)
	require.NoError(t, err)
	require.Len(t, r.clients, 2*2*2*2*2)
	require.Greater(t, r.large[1].Connections, r.large[0].Connections)
	for _, f := range r.footprints {
		require.Equal(t, f.Primaries*max(f.Lanes, f.Fixed), f.Connections)
		require.Positive(t, f.Server)
		require.Positive(t, f.Idle)
	}
	require.Greater(t, r.footprints[4].Idle, r.footprints[3].Idle, "more lanes take more")
	require.Greater(t, r.footprints[4].Files, r.footprints[3].Files)
	for _, c := range r.clients {
		require.Positive(t, c.Requests)
	}
}

func TestCommandLine(t *testing.T) {
	require.ErrorContains(t, command(t.Context(), []string{"what"}), `"what": is no flag`)
	require.ErrorContains(t, command(t.Context(), []string{"-raw", filepath.Join(t.TempDir(), "none", "raw")}), "-raw: ")
}

// TestPagesAreWhatWasMeasured makes the tables of the pages again from the raw files.
func TestPagesAreWhatWasMeasured(t *testing.T) {
	changed, err := pages.Rewrite("..", "scale", true, evidence.Dated(tableOf))
	require.NoError(t, err)
	require.Empty(t, changed, "differ from what was measured: run make pages")
}
