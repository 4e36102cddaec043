package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/redistest"
)

// A connLog counts what it is told of connections, and asks the client something
// meanwhile, which it could not under a lock.
type connLog struct {
	mu             sync.Mutex
	client         *Client
	dialed, failed int
	closed         map[string]int
}

func (l *connLog) trace() *redislanes.Trace {
	return &redislanes.Trace{
		Dialed: func(d redislanes.DialInfo) {
			l.note(func() {
				if d.Err == nil {
					l.dialed++
				} else {
					l.failed++
				}
			})
		},
		ConnClosed: func(c redislanes.CloseInfo) {
			if c.Open < 0 || c.Err == nil || c.Pool == nil {
				panic("a connection without a life, a reason or a pool")
			}
			l.note(func() { l.closed[c.Reason]++ })
		},
	}
}

func (l *connLog) note(what func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		_ = l.client.Stats()
	}
	what()
}

func (l *connLog) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := l.dialed
	for _, n := range l.closed {
		open -= n
	}
	return open
}

// TestConnectionsAreTold: what is told adds up to the pools' own counts, for every kind,
// and to no connection after Close.
func TestConnectionsAreTold(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]nodepool.Settings{"laned": {}, "fixed": {Kind: nodepool.KindFixed, Max: 3}, "adaptive": {Kind: nodepool.KindAdaptive, Max: 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 3)
			log := &connLog{closed: make(map[string]int)}
			client, err := Config{Pool: kind, Trace: log.trace()}.New(t.Context(), e.Addrs())
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Close() })
			log.mu.Lock()
			log.client = client
			log.mu.Unlock()
			for _, key := range redistest.KeysInSlots(9, "conns") {
				require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", key)))
				require.NoError(t, client.Do(t.Context(), radix.WithConn(key, func(context.Context, radix.Conn) error { return nil })))
			}
			same := func() bool {
				open := 0
				for _, n := range client.Stats().Nodes {
					open += n.Pool.Open + n.Pool.Extra
				}
				return open == log.open() && open >= 3
			}
			require.Eventually(t, same, 10*time.Second, time.Millisecond)
			require.NoError(t, client.Close())
			require.Zero(t, log.open())
			require.NotZero(t, log.closed[redislanes.CloseByClient])
		})
	}
}
