package nodepool

import (
	"sync"
	"testing"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
)

// BenchmarkPool makes requests of one command, with callers that find a connection
// free and with more than may be in flight, which wait.
func BenchmarkPool(b *testing.B) {
	server := servers.StartServer(b, servers.Options{})
	for _, c := range []struct {
		name    string
		config  Config
		callers int
	}{
		{"fixed-free", Fixed{Size: 4}, 1},
		{"fixed-wait", Fixed{Size: 4}, 64},
		{"laned-free", Laned{Lanes: 4}, 64},
		{"laned-wait", Laned{Lanes: 4, MaxInFlight: 8}, 128},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := open(b, c.config, server)
			var callers sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for i := range c.callers {
				callers.Go(func() { ask(b, p, b.N/c.callers+min(1, max(0, b.N%c.callers-i))) })
			}
			callers.Wait()
		})
	}
}

// ask makes so many requests, one after the other.
func ask(b *testing.B, p *Node, n int) {
	command := resp.AppendCommand(nil, "INCR", "k")
	call, batch := wire.NewCall(), new(wire.Batch)
	for range n {
		batch.Reset(call, command)
		batch.Add(0, len(command))
		wire.RoundTrip(b.Context(), p, batch)
		if _, err := batch.Reply(0); err != nil {
			b.Error(err)
			return
		}
	}
}
