package wire

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

func TestManyCallersGetTheirOwnReplies(t *testing.T) {
	for name, o := range map[string]servers.Options{"plain": {}, "TLS": {TLS: true}} {
		t.Run(name, func(t *testing.T) {
			server := servers.StartServer(t, o)
			l := dialWith(t, lanes.Dialer{TLS: server.TLSConfig()}, server.Addrs()[0], noEvents{})
			var tasks sync.WaitGroup
			for caller := range 200 {
				tasks.Go(func() {
					call, b := NewCall(), new(Batch)
					for round := range 40 {
						var commands [][]string
						var want []string
						for i := range 1 + (caller+round)%5 {
							value := fmt.Sprintf("%d.%d.%d", caller, round, i) + strings.Repeat("x", caller*round%300)
							commands = append(commands, []string{"ECHO", value})
							want = append(want, fmt.Sprintf("$%d\r\n%s\r\n", len(value), value))
						}
						b.fill(call, commands...)
						RoundTrip(t.Context(), l, b)
						if !assert.Equal(t, want, b.texts()) {
							return
						}
					}
				})
			}
			tasks.Wait()
			require.Zero(t, l.InFlight())
			require.NoError(t, l.Err())
		})
	}
}

// Both directions are full at the same time, for several callers at once.
func TestLargePipelinesDoNotDeadlock(t *testing.T) {
	const commands, size = 10_000, 1 << 10
	for name, d := range map[string]lanes.Dialer{"raw": {}, "not raw": {NetDial: dialHidden}} {
		t.Run(name, func(t *testing.T) {
			server := servers.StartServer(t, servers.Options{})
			l := dialWith(t, d, server.Addrs()[0], noEvents{})
			var tasks sync.WaitGroup
			for caller := range 3 {
				value := strings.Repeat(string(rune('a'+caller)), size)
				echo := make([][]string, commands)
				for i := range echo {
					echo[i] = []string{"ECHO", value}
				}
				tasks.Go(func() {
					b := newTrip(echo...)
					RoundTrip(within(t, patience), l, b)
					assert.False(t, b.Failed())
					want := fmt.Sprintf("$%d\r\n%s\r\n", size, value)
					for i := range commands {
						if reply, _ := b.Reply(i); string(reply) != want {
							t.Errorf("reply %d of caller %d is %.20q", i, caller, reply)
							return
						}
					}
				})
			}
			tasks.Wait()
			until(t, "the quiet lane gives large buffers back", func() bool {
				l.Watch()
				quieten(t, l)
				return l.buffers() <= 2*KeptBytes
			})
		})
	}
}
