package wire

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ended lets the batch, which no lane has taken, end: with an error or with a
// reply to each command.
func (b *Batch) end(failed bool) {
	if failed {
		b.Fail("addr", ErrClosed)
		return
	}
	b.phase = ended
	b.call.complete(b, Now())
}

// TestNextReturnsAtTheFirstFailure: a batch that fails is known while another
// one is out; one without an error wakes nobody.
func TestNextReturnsAtTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := NewCall()
		var slow, good, bad, more Batch
		for _, b := range []*Batch{&slow, &good, &bad, &more} {
			b.Reset(call, nil)
		}
		call.Begin(3)
		began := time.Now()
		time.AfterFunc(time.Second, func() { good.end(false) })
		time.AfterFunc(2*time.Second, func() { bad.end(true) })
		time.AfterFunc(4*time.Second, func() { more.end(true) })
		time.AfterFunc(5*time.Second, func() { slow.end(false) })

		complete, err := call.Next(t.Context(), nil)
		require.NoError(t, err)
		require.False(t, complete)
		require.True(t, bad.HasError())
		require.Equal(t, 2*time.Second, time.Since(began))

		call.More(1)
		complete, err = call.Next(t.Context(), time.After(time.Second))
		require.NoError(t, err)
		require.False(t, complete)
		require.Equal(t, 3*time.Second, time.Since(began), "it is due")

		complete, err = call.Next(t.Context(), nil)
		require.NoError(t, err)
		require.False(t, complete)
		require.True(t, more.HasError())
		require.Equal(t, 4*time.Second, time.Since(began))

		complete, err = call.Next(t.Context(), nil)
		require.NoError(t, err)
		require.True(t, complete)
		require.False(t, slow.HasError() || good.HasError())
		require.Equal(t, 5*time.Second, time.Since(began))

		call.Begin(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 2 { // to look again does no harm
			complete, err = call.Next(ctx, nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.False(t, complete)
		}
	})
}

// TestCallIsUsedAgain lets batches end from other goroutines while the caller
// takes what ends first, adds more, and uses the Call and the batches for the
// next request as soon as all are complete. A wake-up that is late must not end
// the next request.
func TestCallIsUsedAgain(t *testing.T) {
	call := NewCall()
	const size = 4
	batches := make([]Batch, 2*size)
	for round := range 3000 {
		for i := range batches {
			batches[i].Reset(call, nil)
		}
		var ends sync.WaitGroup
		submit := func(from, to int) {
			for i := from; i < to; i++ {
				ends.Go(func() { batches[i].end((round+i)%3 == 0) })
			}
		}
		call.Begin(size)
		submit(0, size)
		_, err := call.Next(t.Context(), nil)
		require.NoError(t, err)
		call.More(size)
		submit(size, 2*size)
		for complete := false; !complete; {
			complete, err = call.Next(t.Context(), nil)
			require.NoError(t, err)
		}
		for i := range batches {
			require.Equal(t, ended, batches[i].phase)
			require.Equal(t, (round+i)%3 == 0, batches[i].HasError())
		}
		if round%2 == 0 {
			ends.Wait() // else some may still be on their way out
		}
	}
}

func TestBatchOfScatteredCommands(t *testing.T) {
	arena := []byte("aabbbcdddd")
	b := new(Batch)
	b.Reset(NewCall(), arena)
	for _, s := range []span{{0, 2}, {2, 5}, {6, 10}, {5, 6}} {
		b.Add(s.from, s.to)
	}
	var got []string
	for command := range b.Each(b.arena) {
		got = append(got, string(command))
	}
	assert.Equal(t, []string{"aa", "bbb", "dddd", "c"}, got)
	assert.Equal(t, 4, b.Len())
	assert.Len(t, b.runs, 3, "neighbours are copied at once")
	b.start = 100
	for stream, want := range map[uint64]int{0: 0, 101: 0, 102: 1, 104: 1, 105: 2, 109: 3, 110: 4, 1000: 4} {
		assert.Equal(t, want, b.handedAt(stream), "up to %d", stream)
	}
}
