package wire

import (
	"context"
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

// One caller leaves; the one behind it on the lane gets its own reply, and the
// late one is nobody's.
func TestNeighboursOfAnAbandonedBatch(t *testing.T) {
	addr, got, answer := gated(t)
	l := dial(t, addr)
	quieten(t, l)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	first := newTrip([]string{"ECHO", "1"})
	firstDone := start(ctx, l, first)
	<-got
	second := newTrip([]string{"ECHO", "2"})
	secondDone := start(within(t, patience), l, second)
	until(t, "both are in flight", func() bool { return l.InFlight() == 2 })
	leave()
	await(t, "the caller that left", firstDone)
	_, err := first.Reply(0)
	wantOutcome(t, err, redislanes.ErrUnknownOutcome)

	answer <- "$4\r\nlate\r\n"
	<-got
	answer <- "$4\r\nmine\r\n"
	await(t, "the neighbour", secondDone)
	require.Equal(t, []string{"$4\r\nmine\r\n"}, second.texts())
	require.Equal(t, []string{""}, first.texts())
	require.NoError(t, l.ping(t))
	require.Zero(t, l.InFlight())
}

// Under the race detector: replies go on arriving while callers that have left
// read every byte of what they have.
func TestNothingWritesToAnAbandonedBatch(t *testing.T) {
	release := make(chan struct{}, 1)
	addr := scripted(t, func(p *peer) {
		for p.take(3) {
			p.send("$3\r\none\r\n+tw")
			<-release
			p.send("o\r\n:3\r\n")
		}
	})
	l := dial(t, addr)
	b := new(Batch)
	for range 100 {
		b.fill(NewCall(), []string{"GET", "1"}, []string{"GET", "2"}, []string{"GET", "3"})
		ctx, leave := context.WithCancel(t.Context())
		done := start(ctx, l, b)
		until(t, "the first reply is there", func() bool {
			l.replyMu.Lock()
			defer l.replyMu.Unlock()
			return len(b.buf) == len("$3\r\none\r\n+tw")
		})
		leave()
		await(t, "the caller", done)
		release <- struct{}{}
		require.Equal(t, []string{"$3\r\none\r\n", "", ""}, b.texts())
		for _, c := range b.buf {
			require.NotZero(t, c)
		}
		until(t, "the lane has done with it", func() bool { return l.InFlight() == 0 })
		require.Equal(t, []string{"$3\r\none\r\n", "", ""}, b.texts())
		b = new(Batch)
	}
	require.NoError(t, l.Err())
}

// Callers with deadlines about as long as the server takes: each has its own
// value or an error, also over TLS, whose reads are interrupted, too.
func TestRandomDeadlinesOnASharedLane(t *testing.T) {
	for name, o := range map[string]servers.Options{"plain": {}, "TLS": {TLS: true}} {
		t.Run(name, func(t *testing.T) {
			server := servers.StartServer(t, o)
			l := dialWith(t, lanes.Dialer{TLS: server.TLSConfig()}, server.Addrs()[0], noEvents{})
			var tasks sync.WaitGroup
			for caller := range 8 {
				tasks.Go(func() {
					for round := range 100 {
						value := strings.Repeat(string(rune('a'+caller)), 1+round*round%5000)
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+37*round%2000)*time.Microsecond)
						b := newTrip([]string{"ECHO", value}, []string{"ECHO", value})
						RoundTrip(ctx, l, b)
						cancel()
						for _, reply := range b.texts() {
							if reply != "" {
								assert.True(t, strings.HasSuffix(reply, "\n"+value+"\r\n"), "%.40q", reply)
							}
						}
					}
				})
			}
			tasks.Wait()
			require.NoError(t, l.ping(t))
			require.NoError(t, l.Err())
		})
	}
}
