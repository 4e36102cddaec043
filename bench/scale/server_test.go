package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/pipeline"

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
