package cluster_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

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
				p := radix.NewPipeline()
				p.Append(radix.Cmd(&first, "INCR", "k"))
				p.Append(radix.Cmd(&raw, "GET", "k"))
				p.Append(radix.Cmd(&last, "INCR", "k"))
				err := client.Do(soon(t, 3*time.Second), p)
				require.ErrorIs(t, err, redislanes.ErrRefused)
				require.ErrorContains(t, err, "GET on "+nodeA)
				require.Equal(t, []string{one, one}, []string{string(first), string(last)})
			})
		})
	}
}

// TestBlockingPipelineFollowsRedirects: a radix.Pipeline with a command that blocks
// is redirected, and waits for a node that loads, as long as none of its commands
// has run.
func TestBlockingPipelineFollowsRedirects(t *testing.T) {
	slot := cluster.Slot("{k}")
	for name, text := range map[string]string{
		"MOVED": fmt.Sprintf("MOVED %d %s", slot, nodeB), "ASK": fmt.Sprintf("ASK %d %s", slot, nodeB), "LOADING": "LOADING soon",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := make(map[string]int)
				began := time.Now()
				w := newWorld(func(addr string, cmd []string) string {
					if addr == nodeA && time.Since(began) < 300*time.Millisecond {
						return "-" + text + "\r\n"
					}
					ran[cmd[0]]++
					return one
				}, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				var raw resp3.RawMessage
				var n int
				p := radix.NewPipeline()
				p.Append(radix.Cmd(&n, "INCR", "{k}n"))
				p.Append(radix.Cmd(&raw, "BLMOVE", "{k}a", "{k}b", "LEFT", "RIGHT", "0"))
				require.NoError(t, client.Do(soon(t, 3*time.Second), p))
				require.Equal(t, 1, n)
				require.Equal(t, one, string(raw))
				require.Equal(t, []int{1, 1}, []int{ran["INCR"], ran["BLMOVE"]})
			})
		})
	}
}

// TestBlockingPipelineIsNotRepeated: once a command of it has run, the redirect of
// another one is the call's error.
func TestBlockingPipelineIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		w := newWorld(func(_ string, cmd []string) string {
			if cmd[0] == "BLMOVE" {
				return fmt.Sprintf("-ASK %d %s\r\n", cluster.Slot("{k}"), nodeB)
			}
			ran++
			return one
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		var raw resp3.RawMessage
		p := radix.NewPipeline()
		p.Append(radix.Cmd(nil, "INCR", "{k}n"))
		p.Append(radix.Cmd(&raw, "BLMOVE", "{k}a", "{k}b", "LEFT", "RIGHT", "0"))
		require.ErrorIs(t, client.Do(soon(t, 3*time.Second), p), redislanes.ErrRefused)
		require.Equal(t, 1, ran)
	})
}
