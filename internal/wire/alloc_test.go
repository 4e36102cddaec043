package wire

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/resp"
)

// reused sends the same commands again and again without new memory.
type reused struct {
	lane  *Lane
	call  *Call
	batch Batch
	arena []byte
	mine  []*Batch
}

func newReused(l *Lane) *reused {
	arena := resp.AppendCommand(nil, "INCRBY", "limit:{user:12345}", "1")
	return &reused{lane: l, call: NewCall(), arena: resp.AppendCommand(arena, "EXPIRE", "limit:{user:12345}", "60")}
}

func (r *reused) trip(tb testing.TB) {
	first, _ := resp.Cut(r.arena)
	r.batch.Reset(r.call, r.arena)
	r.batch.Add(0, len(first))
	r.batch.Add(len(first), len(r.arena))
	r.call.Begin(1)
	if r.lane.Submit(&r.batch) {
		r.mine = append(r.mine[:0], &r.batch)
		Flush(r.mine)
		r.batch.read(tb.Context())
	}
	if err := r.call.Wait(tb.Context()); err != nil || r.batch.Failed() {
		tb.Fatal(err)
	}
}

// counter answers every two commands at once, without memory of its own.
func counter(p *peer) {
	request := len(newReused(nil).arena)
	buf, answer, got := make([]byte, 4096), []byte(":123\r\n:1\r\n"), 0
	for {
		n, err := p.in.Read(buf)
		if err != nil {
			return
		}
		for got += n; got >= request; got -= request {
			if _, err := p.Write(answer); err != nil {
				return
			}
		}
	}
}

func TestRoundTripAllocatesNothing(t *testing.T) {
	reads := 2.0 // of crypto/tls, here and at the server: it allocates for each
	if race.Enabled {
		reads += 2 // and its buffers
	}
	for way, most := range map[string]float64{"socket": 0, "wrapped": 0, "TLS": reads} {
		addr, d := dialable(t, way, counter)
		r := newReused(dialWith(t, d, addr, noEvents{}))
		for range 100 {
			r.trip(t)
		}
		require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { r.trip(t) }), most, way)
		if race.Enabled {
			continue // sync.Pool drops some of what it is given
		}
		afterIdle := func() {
			r.lane.restedAt.Store(0)
			r.trip(t)
		}
		require.LessOrEqual(t, testing.AllocsPerRun(1000, afterIdle), most, "%s, of which the socket is asked first", way)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, way := range []string{"socket", "TLS", "wrapped", "not a socket"} {
		b.Run(way, func(b *testing.B) {
			addr, d := dialable(b, way, counter)
			r := newReused(dialWith(b, d, addr, noEvents{}))
			b.ReportAllocs()
			for b.Loop() {
				r.trip(b)
			}
		})
	}
}

func BenchmarkShared(b *testing.B) {
	for _, way := range []string{"socket", "TLS", "wrapped", "not a socket"} {
		b.Run(way, func(b *testing.B) {
			addr, d := dialable(b, way, counter)
			l := dialWith(b, d, addr, noEvents{})
			b.SetParallelism(64)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for r := newReused(l); pb.Next(); {
					r.trip(b)
				}
			})
		})
	}
}
