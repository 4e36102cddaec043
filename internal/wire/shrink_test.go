package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a batch has grown for one large reply it gives back when the next ones
// are small, but not from one large reply to the next.
func TestReplyBuffersShrink(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	l := dial(t, scripted(t, (*peer).echo))
	b := new(Batch)
	echo := func(text string) int {
		b.fill(NewCall(), []string{"ECHO", text})
		RoundTrip(within(t, patience), l, b)
		reply, err := b.Reply(0)
		require.NoError(t, err)
		require.Greater(t, len(reply), len(text))
		return cap(b.buf)
	}
	require.Greater(t, echo(large), 1<<20)
	require.Greater(t, echo(large), 1<<20)
	for range SpareUses {
		require.Greater(t, echo("small"), 1<<20, "not at once")
		echo(large)
	}
	for range SpareUses {
		echo("small")
	}
	require.Less(t, echo("small"), 1<<10)
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

// What a lane needed once for a large write it gives back: when it is idle, and
// when small writes follow. Large ones find it again.
func TestWriteBuffersShrink(t *testing.T) {
	large := strings.Repeat("x", 2<<20)
	l := dial(t, scripted(t, (*peer).echo))
	echo := func(text string) {
		b := newTrip([]string{"ECHO", text})
		RoundTrip(within(t, patience), l, b)
		_, err := b.Reply(0)
		require.NoError(t, err)
		until(t, "the writer is done", l.idleWriter)
	}
	quieten(t, l)
	echo(large)
	require.Greater(t, l.buffers(), 2<<20)
	for range SpareUses {
		echo("small")
		echo(large)
	}
	require.Greater(t, l.buffers(), 2<<20, "not between large ones")
	for range 2 * SpareUses {
		echo("small")
	}
	require.LessOrEqual(t, l.buffers(), 2*KeptBytes)

	quieten(t, l)
	echo(large)
	require.Greater(t, l.buffers(), 2<<20)
	until(t, "the reply is delivered", func() bool { return l.InFlight() == 0 })
	l.Watch()
	require.LessOrEqual(t, l.buffers(), 2*KeptBytes)
}

// The reader that sits in an idle lane's read does not keep what it grew by.
func TestIdleReaderShrinks(t *testing.T) {
	elements := strings.Repeat("$4\r\nname\r\n", 20_000)
	addr := scripted(t, func(p *peer) {
		for p.take(1) && p.send("*20000\r\n"+elements) {
		}
	})
	l := dial(t, addr)
	until(t, "the reader listens", func() bool { return l.role() == background })
	b := newTrip([]string{"HGETALL", "1"})
	RoundTrip(within(t, patience), l, b)
	require.Equal(t, "*20000\r\n"+elements, b.texts()[0])
	require.True(t, l.grown.Load())
	until(t, "the reply is delivered", func() bool { return l.InFlight() == 0 })
	require.Equal(t, background, l.role(), "it goes on listening")
	until(t, "the buffer is small again", func() bool {
		l.Watch()
		return !l.grown.Load()
	})
	RoundTrip(within(t, patience), l, begunAgain(b))
	require.NoError(t, l.Err(), "it only looked up")
	require.NoError(t, l.Close())
}

func begunAgain(b *Batch) *Batch {
	b.fill(b.call, []string{"HGETALL", "1"})
	return b
}

// A batch of many commands is no reason either.
func TestBatchesOfManyCommandsShrink(t *testing.T) {
	b := new(Batch)
	fill := func(n int) {
		b.Reset(NewCall(), make([]byte, 2*n))
		for i := range n {
			b.Add(2*i, 2*i+1)
			b.replies = append(b.replies, i)
		}
	}
	fill(100_000)
	for range SpareUses {
		fill(1)
		fill(100_000)
	}
	require.Greater(t, cap(b.ends)+cap(b.runs)+cap(b.replies), 300_000)
	for range SpareUses + 2 {
		fill(1)
	}
	require.Less(t, cap(b.ends)+cap(b.runs)+cap(b.replies), 3*KeptCommands)
}

// A lane is not filled without bounds, but takes what finds it empty.
func TestQueuedBytesAreBounded(t *testing.T) {
	value := strings.Repeat("v", 1000)
	set := func() *Batch { return begun([]string{"SET", "k", value}) }
	l := dial(t, scripted(t, (*peer).echo))
	l.maxQueued = 2500
	var all []*Batch
	enqueue := func(b *Batch) bool {
		ok := l.Enqueue(b, 100)
		if ok {
			all = append(all, b)
		}
		return ok
	}
	require.True(t, enqueue(begun([]string{"SET", "k", strings.Repeat("v", 5000)})), "alone it goes, whatever its size")
	require.False(t, enqueue(set()))
	ok, _ := l.Dispatch(set(), 100)
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
