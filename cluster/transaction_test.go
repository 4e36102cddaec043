package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// pipelineOf returns a radix.Pipeline of commands that INCR and EXEC decode replies of.
func pipelineOf(into *[]int, commands ...string) *radix.Pipeline {
	p := radix.NewPipeline()
	for _, command := range commands {
		words := strings.Fields(command)
		if words[0] == "EXEC" {
			p.Append(radix.Cmd(into, words[0]))
			continue
		}
		p.Append(radix.Cmd(nil, words[0], words[1:]...))
	}
	return p
}

// TestTransactionInPipelineFollowsRedirects: a transaction of which the server has
// refused a command, or EXEC, has not run, and goes where the redirect points.
func TestTransactionInPipelineFollowsRedirects(t *testing.T) {
	slot := cluster.Slot("{k}")
	for name, text := range map[string]string{
		"MOVED": fmt.Sprintf("-MOVED %d %s\r\n", slot, nodeB), "ASK": fmt.Sprintf("-ASK %d %s\r\n", slot, nodeB), "LOADING": "-LOADING soon\r\n",
	} {
		for _, refused := range []string{"INCR", "EXEC"} {
			t.Run(name+" of "+refused, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began, ran := time.Now(), 0
					w := newWorld(func(addr string, cmd []string) string {
						away := addr == nodeA && time.Since(began) < 300*time.Millisecond
						switch {
						case away && cmd[0] == refused:
							return text
						case away && cmd[0] == "EXEC":
							return "-EXECABORT Transaction discarded because of previous errors.\r\n"
						case cmd[0] == "INCR":
							return "+QUEUED\r\n"
						case cmd[0] == "EXEC":
							ran++
							return "*1\r\n:1\r\n"
						}
						return "+OK\r\n"
					}, nodeA)
					client := w.open(t, cluster.Config{RefreshEvery: -1})
					var replies []int
					require.NoError(t, client.Do(soon(t, 3*time.Second), pipelineOf(&replies, "WATCH {k}", "MULTI", "INCR {k}", "EXEC")))
					require.Equal(t, []int{1}, replies)
					require.Equal(t, 1, ran)
				})
			})
		}
	}
}

// TestTransactionInPipelineIsNotRepeated: once something of the pipeline has run, the
// redirect of another part of it is the call's error.
func TestTransactionInPipelineIsNotRepeated(t *testing.T) {
	moved := fmt.Sprintf("-MOVED %d %s\r\n", cluster.Slot("{k}"), nodeB)
	for name, commands := range map[string][]string{
		"a command before it": {"SET {k} 1", "MULTI", "INCR {k}", "EXEC"},
		"the transaction":     {"MULTI", "SET {k} 1", "EXEC", "INCR {k}"},
		"an earlier one":      {"MULTI", "SET {k} 1", "EXEC", "MULTI", "INCR {k}", "EXEC"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				aborted := false
				w := newWorld(func(_ string, cmd []string) string {
					switch cmd[0] {
					case "INCR":
						aborted = true
						return moved
					case "SET":
						ran++
					case "EXEC":
						if aborted {
							return "-EXECABORT Transaction discarded because of previous errors.\r\n"
						}
						return "*1\r\n:1\r\n"
					}
					return "+OK\r\n"
				}, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				var replies []int
				require.ErrorIs(t, client.Do(soon(t, 3*time.Second), pipelineOf(&replies, commands...)), redislanes.ErrRefused)
				require.Equal(t, 1, ran)
			})
		})
	}
}

// TestPartsOfTransactionsAreRefused: what would leave its connection in another state
// than it found it in does not reach a server.
func TestPartsOfTransactionsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := 0
		w := newWorld(func(string, []string) string { seen++; return "+OK\r\n" }, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		clients, err := client.Clients()
		require.NoError(t, err)
		for _, commands := range [][]string{
			{"MULTI", "INCR k"}, {"EXEC"}, {"INCR k", "DISCARD"}, {"WATCH k", "GET k"}, {"MULTI", "MULTI", "EXEC"}, {"MULTI", "WATCH k", "EXEC"},
			{"MULTI", "EXEC", "EXEC"}, {"MULTI", "EXEC", "WATCH k"}, {"MULTI", "SELECT 1", "EXEC"}, {"MULTI", "EXEC", "SUBSCRIBE c"}, {"MULTI", "CLIENT REPLY OFF", "EXEC"},
		} {
			for _, do := range []radix.Client{client, clients[nodeA].Primary} {
				var replies []int
				require.ErrorIs(t, do.Do(soon(t, time.Second), pipelineOf(&replies, commands...)), redislanes.ErrShared, commands)
			}
		}
		require.Zero(t, seen)
		var replies []int
		require.ErrorIs(t, client.Do(soon(t, time.Second), pipelineOf(&replies, "MULTI", "INCR a", "INCR b", "EXEC")), redislanes.ErrCrossSlot)
		require.Zero(t, seen)
	})
}
