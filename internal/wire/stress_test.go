//go:build unix

package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// A wake-up that got lost leaves a caller hanging: few callers, with random tiny pauses, and enough for batches to
// gather, many rounds, of all the ways to use a lane.
func TestNoWakeUpIsLost(t *testing.T) {
	addr := scripted(t, (*peer).echo)
	for _, callers := range []int{1, 2, 3, 4, 3 * gatherFrom} {
		l := dial(t, addr)
		l.pace.shortest.Store(1)
		var tasks sync.WaitGroup
		for id := range callers {
			tasks.Go(func() {
				r := rand.New(rand.NewPCG(uint64(id), uint64(callers)))
				call, b := NewCall(), new(Batch)
				for round := range 6000 / max(4, callers) {
					want := fmt.Sprintf("%d-%d", id, round)
					b.fill(call, []string{"ECHO", want})
					if left := oneTrip(t, r, l, call, b); left {
						call, b = NewCall(), new(Batch)
						continue
					}
					assert.Equal(t, []string{fmt.Sprintf("$%d\r\n%s\r\n", len(want), want)}, b.texts())
					for range r.IntN(200) {
						runtime.Gosched()
					}
				}
			})
		}
		finished := make(chan struct{})
		go func() {
			tasks.Wait()
			close(finished)
		}()
		await(t, fmt.Sprintf("%d callers", callers), finished)
		until(t, "nothing is in flight", func() bool { return l.InFlight() == 0 })
		require.NoError(t, l.Err())
	}
}

// oneTrip sends the batch in a random way and waits for it. It reports whether
// the caller left before the end.
func oneTrip(t testing.TB, r *rand.Rand, l *Lane, call *Call, b *Batch) (left bool) {
	call.Begin(1)
	way := r.IntN(16)
	switch way {
	case 0: // by somebody else
		ok, flush := l.Enqueue(b, 1000, false)
		assert.True(t, ok)
		if flush {
			l.Flush()
		}
	case 1: // the caller has left before it wrote, or before it read
		assert.True(t, l.Submit(b))
		if r.IntN(2) == 0 {
			Flush([]*Batch{b})
		}
		l.Abandon(b, context.Canceled)
		return true
	case 2: // the caller is held up between its steps
		assert.True(t, l.Submit(b))
		runtime.Gosched()
		Flush([]*Batch{b})
		for range r.IntN(20) {
			runtime.Gosched()
		}
		b.read(t.Context())
	case 3:
		l.Watch()
		fallthrough
	default:
		assert.True(t, l.Submit(b))
		Flush([]*Batch{b})
		b.read(t.Context())
	}
	assert.NoError(t, call.Wait(t.Context()))
	return false
}

// Lanes fail at random moments of the traffic: every caller comes back, with
// its own reply or one outcome, and every event comes once.
func TestFailDuringTraffic(t *testing.T) {
	ways := []string{"not a socket", "socket", "TLS", "wrapped"}
	var addrs [4]string
	var dialers [4]lanes.Dialer
	for i, way := range ways {
		addrs[i], dialers[i] = dialable(t, way, (*peer).echo)
	}
	cause := errors.New("the pool's reason")
	for round := range 150 {
		events := new(counting)
		addr, d := addrs[round%4], dialers[round%4]
		l := dialWith(t, d, addr, events)
		var tasks sync.WaitGroup
		for id := range 6 {
			tasks.Go(func() {
				r := rand.New(rand.NewPCG(uint64(id), uint64(round)))
				for n := 0; ; n++ {
					value := fmt.Sprintf("%d-%d-%d", round, id, n)
					b := newTrip([]string{"ECHO", value}, []string{"ECHO", value})
					b.call.Begin(1)
					if l.Submit(b) {
						Flush([]*Batch{b})
						b.read(t.Context())
					}
					if r.IntN(50) == 0 {
						b.Abandon(context.Canceled)
						continue
					}
					assert.NoError(t, b.call.Wait(t.Context()))
					for i, reply := range b.texts() {
						if _, err := b.Reply(i); err != nil {
							assert.NotEqual(t, errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrUnknownOutcome))
							continue
						}
						assert.Equal(t, fmt.Sprintf("$%d\r\n%s\r\n", len(value), value), reply)
					}
					if b.Failed() {
						return
					}
				}
			})
		}
		pause := time.NewTimer(rand.N(3 * time.Millisecond))
		<-pause.C // the random moment; nothing waits for it
		if round%2 == 0 {
			l.Fail(cause)
		} else {
			assert.NoError(t, l.Close())
		}
		finished := make(chan struct{})
		go func() {
			tasks.Wait()
			close(finished)
		}()
		await(t, "all callers of a lane that failed", finished)
		until(t, "the lane is settled", func() bool { return events.closed.Load() > 0 })
		require.Equal(t, int32(1), events.closed.Load())
		require.Zero(t, l.InFlight())
		require.NoError(t, l.Close(), "again")
		require.True(t, l.idleWriter())
		require.Equal(t, nobody, l.role())
	}
}

// A lane that others keep busy does not make one caller write for all of them.
func TestWriterHandsOver(t *testing.T) {
	addr := scripted(t, (*peer).echo)
	l := dial(t, addr)
	first := newTrip([]string{"PING"})
	first.call.Begin(1)
	require.True(t, l.Submit(first))

	written := 0
	raw := l.conn.socket
	try := raw.try
	finished := make(chan struct{})
	var more []*Batch
	raw.try = func(fd uintptr) bool { // whenever something is written, more is enqueued
		if written++; written == 2*maxWrites {
			select {
			case <-finished:
			case <-time.After(patience):
				t.Error("one caller writes for all others")
			}
		}
		if written <= 10*maxWrites {
			b := newTrip([]string{"PING"})
			b.call.Begin(1)
			assert.True(t, enqueue(l, b, 1<<20))
			assert.False(t, b.flush)
			more = append(more, b)
		}
		return try(fd)
	}
	Flush([]*Batch{first})
	close(finished)
	until(t, "all is written", l.idleWriter)
	first.read(t.Context())
	for _, b := range append(more, first) {
		require.NoError(t, b.call.Wait(within(t, patience)))
	}
	require.Equal(t, 10*maxWrites, len(more))
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
				return l.buffers() <= 2*minReadBuffer
			})
		})
	}
}
