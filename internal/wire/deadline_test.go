package wire

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// The time in these tests is that of a synctest bubble: exact.

// slack is how late a caller may be on one lane after it was cancelled, besides
// ownReadMax. After a deadline it is not late at all.
const slack = lastLook

func pipeLane(t *testing.T, handler func(p *peer)) *Lane {
	l := dialWith(t, pipeDialer(t, handler), "pipe:1", noEvents{})
	quieten(t, l)
	return l
}

// silent answers PING and is silent from the first other command on.
func silent(p *peer) {
	for {
		args, err := p.command()
		if err != nil {
			return
		}
		if args[0] != "PING" {
			_, _ = p.command() // until the connection ends
			return
		}
		p.send("+PONG\r\n")
	}
}

func TestCallerLeavesASilentServerAtItsDeadline(t *testing.T) {
	for _, timeout := range []time.Duration{time.Microsecond, time.Millisecond, 9 * time.Millisecond, 50 * time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l := pipeLane(t, silent)
			b, begin := newTrip([]string{"INCR", "k"}), time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			RoundTrip(ctx, l, b)
			assert.Equal(t, timeout, time.Since(begin))
			_, err := b.Reply(0)
			wantOutcome(t, err, redislanes.ErrUnknownOutcome)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NoError(t, l.Err(), "a deadline of one caller does not close the lane")
			require.Equal(t, 1, l.InFlight())
		})
	}
}

func TestCallerLeavesWhenItIsCancelled(t *testing.T) {
	for _, after := range []time.Duration{time.Nanosecond, time.Millisecond, 11 * time.Millisecond, 25 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			l := pipeLane(t, silent)
			b, begin := newTrip([]string{"INCR", "k"}), time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(after, cancel)
			RoundTrip(ctx, l, b)
			assert.LessOrEqual(t, time.Since(begin), after+ownReadMax+slack)
			_, err := b.Reply(0)
			wantOutcome(t, err, redislanes.ErrUnknownOutcome)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestContextThatHasEndedSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipeLane(t, silent)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b := newTrip([]string{"INCR", "k"})
		RoundTrip(ctx, l, b)
		_, err := b.Reply(0)
		wantOutcome(t, err, redislanes.ErrNotSent)
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, l.InFlight())
	})
}

// A server that sends a byte now and then must not keep a caller in its read.
func TestCallerLeavesADribblingServer(t *testing.T) {
	var every time.Duration
	dribble := func(p *peer) {
		for {
			args, err := p.command()
			if err != nil {
				return
			}
			if args[0] == "PING" {
				p.send("+PONG\r\n")
				continue
			}
			p.send("+whole\r\n$10000\r\n")
			for range 10000 {
				if time.Sleep(every); !p.send("x") {
					return
				}
			}
		}
	}
	for name, with := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 31*time.Millisecond)
		},
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(31*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		for _, every = range []time.Duration{2 * time.Millisecond, lastLook / 3} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := pipeLane(t, dribble)
					b, begin := newTrip([]string{"GET", "a"}, []string{"GET", "b"}), time.Now()
					ctx, cancel := with(t.Context())
					defer cancel()
					RoundTrip(ctx, l, b)
					if name == "deadline" {
						assert.Equal(t, 31*time.Millisecond, time.Since(begin))
					}
					assert.LessOrEqual(t, time.Since(begin), 31*time.Millisecond+every+slack)
					require.Equal(t, []string{"+whole\r\n", ""}, b.texts(), "what has arrived is there")
					_, err := b.Reply(1)
					wantOutcome(t, err, redislanes.ErrUnknownOutcome)
				})
			})
		}
	}
}

// A caller that reads from several lanes has the replies of those that answered, although it
// waited first for one that did not. However many do not answer, it waits for one of them. If its
// context has ended when it begins to read, it looks once for all.
func TestOneSilentServerCostsOnlyItsCommands(t *testing.T) {
	for _, timeout := range []time.Duration{0, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond} {
		for _, cancelled := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				lanes := []*Lane{pipeLane(t, (*peer).echo), pipeLane(t, (*peer).echo)}
				for range 20 {
					lanes = append(lanes, pipeLane(t, silent))
				}
				ctx, cancel := context.WithCancel(t.Context())
				if cancelled {
					time.AfterFunc(timeout, cancel)
				} else {
					ctx, cancel = context.WithTimeout(ctx, timeout)
				}
				defer cancel()
				begin, call := time.Now(), NewCall()
				batches := make([]*Batch, len(lanes))
				call.Begin(len(lanes))
				for i, l := range lanes {
					batches[i] = new(Batch)
					batches[i].fill(call, []string{"INCR", "k"})
					require.True(t, l.Submit(batches[i]))
					call.Mine(batches[i])
				}
				call.Flush()
				late := ownReadMax + slack
				if timeout == 0 {
					cancel()
					late = slack
				}
				call.Read(ctx) // from the last
				assert.LessOrEqual(t, time.Since(begin), late)
				err := call.Wait(ctx)
				require.Error(t, err)
				for i, l := range lanes {
					l.Abandon(batches[i], err)
				}
				if !cancelled && timeout > 0 {
					assert.Equal(t, timeout, time.Since(begin))
				}
				assert.LessOrEqual(t, time.Since(begin), timeout+late)
				for i, b := range batches {
					require.Equal(t, map[bool]string{true: "+OK\r\n"}[i < 2], b.texts()[0], "lane %d, timeout %v", i, timeout)
				}
			})
		}
	}
}

func TestBackgroundReaderTakesOverAfterOwnReadMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipeLane(t, silent)
		begin := time.Now()
		b := newTrip([]string{"GET", "k"})
		b.call.Begin(1)
		require.True(t, l.Submit(b))
		Flush([]*Batch{b})
		b.read(t.Context())
		require.Equal(t, ownReadMax, time.Since(begin))
		require.Equal(t, background, l.role())
	})
}

func TestWriteTimeoutClosesTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := pipeDialer(t, func(p *peer) { <-t.Context().Done() })
		d.Timeout = 3 * time.Second
		l := dialWith(t, d, "pipe:1", noEvents{})
		b, begin := newTrip([]string{"SET", "k", "v"}, []string{"SET", "k", "v"}), time.Now()
		RoundTrip(t.Context(), l, b)
		require.Equal(t, d.Timeout, time.Since(begin))
		_, err := b.Reply(1)
		require.Error(t, err)
		require.Error(t, l.Err())
	})
}

// The deadline of a write that waited does not end a later one.
func TestWriteDeadlineIsTakenBack(t *testing.T) {
	read, later := make(chan struct{}), make(chan struct{})
	addr := scripted(t, func(p *peer) {
		<-read
		p.echo()
	})
	l := dialWith(t, lanes.Dialer{Timeout: time.Second}, addr, noEvents{})
	b := newTrip([]string{"ECHO", strings.Repeat("v", 16<<20)})
	done := start(within(t, patience), l, b)
	until(t, "it is written", func() bool { return l.InFlight() == 1 && !l.idleWriter() })
	close(read)
	await(t, "the reply", done)
	require.False(t, b.Failed())
	until(t, "the writer is gone", l.idleWriter)
	time.AfterFunc(1100*time.Millisecond, func() { close(later) })
	<-later
	require.NoError(t, l.ping(t))
}

// The timeout is for a socket that accepts nothing, not for a slow one.
func TestWriteTimeoutSparesASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		value := strings.Repeat("v", 1<<20)
		d := pipeDialer(t, func(p *peer) {
			buf := make([]byte, 4<<10)
			for got := 0; got < len(value); {
				time.Sleep(100 * time.Millisecond)
				n, err := p.Read(buf)
				if err != nil {
					return
				}
				got += n
			}
			p.send("+OK\r\n")
			_, _ = p.Read(buf)
		})
		l := dialWith(t, d, "pipe:1", noEvents{})
		b, begin := newTrip([]string{"SET", "k", value}), time.Now()
		RoundTrip(t.Context(), l, b)
		require.Equal(t, []string{"+OK\r\n"}, b.texts())
		require.Greater(t, time.Since(begin), 20*time.Second)
	})
}

// A small write through a user's connection that waits after all does not keep its caller,
// and goes on where it was.
func TestSmallWriteThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := pipeDialer(t, func(p *peer) {
			first := make([]byte, 20)
			_, _ = io.ReadFull(p.Conn, first)
			time.Sleep(time.Second)
			p.in = bufio.NewReader(io.MultiReader(bytes.NewReader(first), p.Conn))
			p.echo()
		})
		l := dialWith(t, d, "pipe:1", noEvents{})
		for _, value := range []string{"a", "b"} {
			begin := time.Now()
			b := newTrip([]string{"ECHO", value}, []string{"ECHO", value})
			b.call.Begin(1)
			require.True(t, l.Submit(b))
			Flush([]*Batch{b})
			require.Zero(t, time.Since(begin))
			b.read(t.Context())
			require.NoError(t, b.call.Wait(t.Context()))
			require.Equal(t, []string{"$1\r\n" + value + "\r\n", "$1\r\n" + value + "\r\n"}, b.texts())
			time.Sleep(5 * time.Second) // long after any write deadline
		}
	})
}
