package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

// TestRadixPipelineFollowsRedirects: MOVED inside a radix.Pipeline must not
// reach the caller.
func TestRadixPipelineFollowsRedirects(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{RefreshEvery: -1}, e.Addrs())
	slot := cluster.Slot("{p}")
	e.Move(slot, (e.Owner(slot)+1)%3)
	p := radix.NewPipeline()
	var a, b int
	p.Append(radix.Cmd(&a, "INCRBY", "{p}a", "1"))
	p.Append(radix.Cmd(&b, "INCRBY", "{p}b", "2"))
	require.NoError(t, client.Do(within(t, 5*time.Second), p))
	require.Equal(t, []int{1, 2}, []int{a, b})
	require.EqualValues(t, 2, client.Stats().Moved)
}

// TestRefusalsReachNoReceiver: a redirect at the limit of hops, or a refusal at
// the window's end, is an error of the call, also for receivers that take errors
// for values.
func TestRefusalsReachNoReceiver(t *testing.T) {
	for name, text := range map[string]string{
		"MOVED": fmt.Sprintf("MOVED %d %s", cluster.Slot("k"), nodeA), "TRYAGAIN": "TRYAGAIN later",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(_ string, cmd []string) string {
					if cmd[0] == "GET" {
						return "-" + text + "\r\n"
					}
					return one
				}, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				var raw, first, last resp3.RawMessage
				var said resp3.SimpleError
				for _, into := range []any{&raw, &said, new(any)} {
					err := client.Do(soon(t, 3*time.Second), radix.Cmd(into, "GET", "k"))
					require.ErrorIs(t, err, redislanes.ErrRefused)
					require.ErrorContains(t, err, "GET on "+nodeA+": "+text[:5])
				}
				require.Empty(t, raw)
				require.Empty(t, said.S)
				p := radixPipeline(radix.Cmd(&first, "INCR", "k"), radix.Cmd(&raw, "GET", "k"), radix.Cmd(&last, "INCR", "k"))
				err := client.Do(soon(t, 3*time.Second), p)
				require.ErrorIs(t, err, redislanes.ErrRefused)
				require.ErrorContains(t, err, "GET on "+nodeA)
				require.Equal(t, []string{one, one}, []string{string(first), string(last)})
			})
		})
	}
}

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

const aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n"

// TestOwnPipelineFollowsRedirects: a radix.Pipeline with a command that blocks, or with a transaction, is redirected,
// and waits for a node that loads, as long as nothing of it has run.
func TestOwnPipelineFollowsRedirects(t *testing.T) {
	slot := cluster.Slot("{k}")
	transaction := []string{"WATCH {k}", "MULTI", "INCR {k}", "EXEC"}
	for refused, commands := range map[string][]string{
		"BLMOVE INCR": {"INCR {k}", "BLMOVE {k}a {k}b LEFT RIGHT 0"}, "INCR": transaction, "EXEC": transaction,
	} {
		for _, text := range []string{fmt.Sprintf("MOVED %d %s", slot, nodeB), fmt.Sprintf("ASK %d %s", slot, nodeB), "LOADING soon"} {
			t.Run(strings.Fields(text)[0]+" of "+refused, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began, ran := time.Now(), make(map[string]int)
					w := newWorld(func(addr string, cmd []string) string {
						away := addr == nodeA && time.Since(began) < 300*time.Millisecond
						switch {
						case away && strings.Contains(refused, cmd[0]):
							return "-" + text + "\r\n"
						case away && cmd[0] == "EXEC":
							return aborted
						}
						ran[cmd[0]]++
						switch cmd[0] {
						case "INCR":
							return "+QUEUED\r\n"
						case "EXEC":
							return "*1\r\n:1\r\n"
						}
						return "+OK\r\n"
					}, nodeA)
					client := w.open(t, cluster.Config{RefreshEvery: -1})
					var replies []int
					require.NoError(t, client.Do(soon(t, 3*time.Second), pipelineOf(&replies, commands...)))
					for _, command := range append(strings.Fields(refused), strings.Fields(commands[len(commands)-1])[0]) {
						require.Equal(t, 1, ran[command], command)
					}
				})
			})
		}
	}
}

// TestOwnPipelineIsNotRepeated: once something of the pipeline has run, the redirect of another part of it is the
// call's error.
func TestOwnPipelineIsNotRepeated(t *testing.T) {
	moved := fmt.Sprintf("-MOVED %d %s\r\n", cluster.Slot("{k}"), nodeB)
	for name, commands := range map[string][]string{
		"a command before one that blocks": {"SET {k} 1", "BLMOVE {k}a {k}b LEFT RIGHT 0"},
		"a command before a transaction":   {"SET {k} 1", "MULTI", "INCR {k}", "EXEC"},
		"the transaction":                  {"MULTI", "SET {k} 1", "EXEC", "INCR {k}"},
		"an earlier transaction":           {"MULTI", "SET {k} 1", "EXEC", "MULTI", "INCR {k}", "EXEC"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran, refused := 0, false
				w := newWorld(func(_ string, cmd []string) string {
					switch {
					case cmd[0] == "INCR" || cmd[0] == "BLMOVE":
						refused = true
						return moved
					case cmd[0] == "SET":
						ran++
					case cmd[0] == "EXEC" && refused:
						return aborted
					case cmd[0] == "EXEC":
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
		for _, commands := range [][]string{
			{"MULTI", "INCR k"}, {"EXEC"}, {"INCR k", "DISCARD"}, {"WATCH k", "GET k"}, {"MULTI", "MULTI", "EXEC"}, {"MULTI", "WATCH k", "EXEC"},
			{"MULTI", "EXEC", "EXEC"}, {"MULTI", "EXEC", "WATCH k"}, {"MULTI", "SELECT 1", "EXEC"}, {"MULTI", "EXEC", "SUBSCRIBE c"}, {"MULTI", "CLIENT REPLY OFF", "EXEC"},
		} {
			for _, do := range []radix.Client{client, primaryAt(t, client, nodeA)} {
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
