package wire

import (
	"context"
	"fmt"
	"strings"
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

// TestBatchesShrink: what a large batch needed is given back.
func TestBatchesShrink(t *testing.T) {
	b := new(Batch)
	fill := func(n int) int {
		b.Reset(NewCall(), make([]byte, 2*n))
		for i := range n {
			b.Add(2*i, 2*i+1)
			b.replies = append(b.replies, i)
		}
		b.buf = append(b.buf, make([]byte, 100*n)...)
		return cap(b.ends) + cap(b.runs) + cap(b.replies) + cap(b.buf)/100
	}
	require.Greater(t, fill(100_000), 300_000)
	require.Less(t, fill(100), 10_000)
	require.Greater(t, fill(5000), 15_000)
	require.Greater(t, fill(1), 15_000)
}

// buffers is what the lane keeps for writing.
func (l *Lane) buffers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing {
		return 1 << 30
	}
	return cap(l.wbuf) + cap(l.spare)
}

// TestWriteBuffersShrink: what a lane needed for a large write it gives back, and when it is idle all that it grew by.
func TestWriteBuffersShrink(t *testing.T) {
	l := dial(t, scripted(t, (*peer).echo))
	echo := func(size int) {
		b := newTrip([]string{"ECHO", strings.Repeat("x", size)})
		RoundTrip(within(t, patience), l, b)
		_, err := b.Reply(0)
		require.NoError(t, err)
		until(t, "the writer is done", l.idleWriter)
	}
	quieten(t, l)
	for range 2 {
		echo(2 * KeptBytes)
	}
	require.LessOrEqual(t, l.buffers(), 2*KeptBytes)
	echo(KeptBytes / 4)
	require.Greater(t, l.buffers(), KeptBytes/4)
	until(t, "the reply is delivered", func() bool { return l.InFlight() == 0 })
	l.Watch()
	require.LessOrEqual(t, l.buffers(), 2*minReadBuffer)
}

// A lane is not filled without bounds, but takes what finds it empty.
func TestQueuedBytesAreBounded(t *testing.T) {
	value := strings.Repeat("v", 1000)
	set := func() *Batch { return begun([]string{"SET", "k", value}) }
	l := dial(t, scripted(t, (*peer).echo))
	l.MaxQueued = 2500
	var all []*Batch
	enqueue := func(b *Batch) bool {
		ok := enqueue(l, b, 100)
		if ok {
			all = append(all, b)
		}
		return ok
	}
	require.True(t, enqueue(begun([]string{"SET", "k", strings.Repeat("v", 5000)})), "alone it goes, whatever its size")
	require.False(t, enqueue(set()))
	ok, _ := l.Enqueue(set(), 100, false)
	require.False(t, ok)
	Flush(all)
	require.True(t, enqueue(set()))
	require.True(t, enqueue(set()))
	require.False(t, enqueue(set()))
	Flush(all)
	require.True(t, enqueue(set()))
	Flush(all)
	for _, b := range all {
		b.read(within(t, patience))
		require.NoError(t, b.call.Wait(within(t, patience)))
		require.Equal(t, []string{"+OK\r\n"}, b.texts())
	}
}

// A length is only a claim: memory is for what has arrived.
func TestMemoryFollowsWhatArrives(t *testing.T) {
	const arrived = 3 << 20
	addr := scripted(t, func(p *peer) {
		if p.take(1) {
			p.send(fmt.Sprintf("$%d\r\n%s", 500<<20, strings.Repeat("x", arrived)))
			_, _ = p.command() // until the lane is closed
		}
	})
	l := dial(t, addr)
	b := newTrip([]string{"GET", "1"})
	ctx, leave := context.WithCancel(t.Context())
	done := start(ctx, l, b)
	until(t, "it has arrived", func() bool {
		l.replyMu.Lock()
		defer l.replyMu.Unlock()
		return len(b.buf) > arrived
	})
	leave()
	await(t, "the caller", done)
	require.LessOrEqual(t, cap(b.buf), 3*arrived)
}

// TestReadBufferGrows: up to its limit, for a reply of many elements.
func TestReadBufferGrows(t *testing.T) {
	elements := strings.Repeat("$4\r\nname\r\n", 200_000)
	l := dial(t, scripted(t, func(p *peer) {
		if p.take(1) {
			p.send("*200000\r\n" + elements)
		}
	}))
	b := newTrip([]string{"HGETALL", "1"})
	RoundTrip(within(t, patience), l, b)
	require.Equal(t, "*200000\r\n"+elements, b.texts()[0])
	require.NoError(t, l.Close())
	require.Len(t, l.in.buf, maxReadBuffer)
}
