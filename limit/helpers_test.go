package limit

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// limiterAt returns a limiter with a client of its own.
func limiterAt(t *testing.T, of cluster.Config, c Config, addrs []string) *Limiter {
	t.Helper()
	client, err := of.New(t.Context(), addrs)
	require.NoError(t, err)
	l, err := c.New(client)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.NoError(t, client.Close())
	})
	return l
}

// patient is a budget that a slow machine keeps.
var patient = Config{Budget: 10 * time.Second}

const soonEnough, often = 20 * time.Second, 5 * time.Millisecond // for require.Eventually

// atWindow sleeps until a window of the length begins.
func atWindow(length time.Duration) { time.Sleep(window.At(time.Now(), length).Left()) }

// warm hits the key until its lease decides.
func warm(t *testing.T, l *Limiter, q Request) (used int64) {
	t.Helper()
	for range 200 {
		r := l.Allow(t.Context(), q)
		require.NoError(t, r.Err)
		require.True(t, r.Allowed)
		used += max(1, q.Cost)
		if time.Sleep(250 * time.Microsecond); r.Leased && used > 60 {
			time.Sleep(lease.Tick + 2*time.Millisecond) // a refill may wait, or be under way
			return used
		}
	}
	t.Fatal("no lease decides")
	return 0
}

// A ledger is an observer that adds up hits.
type ledger struct {
	mu   sync.Mutex
	hits [4]int64
}

// The elements of a ledger's sums.
const (
	sumCounted = iota
	sumReturned
	sumLost
	sumLeased
)

func (*ledger) Decided(time.Duration, []Request, Result) {}

func (l *ledger) Hits(_ *Limit, what string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hits[slices.Index([]string{hitsCounted, hitsReturned, hitsLost, hitsLeased}, what)] += n
}

func (l *ledger) sums() [4]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hits
}

// set sets what is counted on the key in the window of now.
func (l *Limiter) set(t *testing.T, of *Limit, key string, n int64) {
	t.Helper()
	name, _ := of.names(of.number(of.windowAt(time.Now())), key)
	require.NoError(t, l.client.Do(t.Context(), radix.Cmd(nil, "SET", name, strconv.FormatInt(n, 10))))
}

// left returns how many hits of the key the limiter has leased.
func (l *Limiter) left(of *Limit, key string) int64 {
	c := l.known(of, key)
	defer c.mu.Unlock()
	return c.lease.Left()
}

// known returns what the limiter knows of the key, locked. No other key of the test may have its hash.
func (l *Limiter) known(of *Limit, key string) *count {
	c := l.counts.of(of, key)
	c.mu.Lock()
	return c
}

// leases returns how many keys have hits that are leased.
func (l *Limiter) leases() (n int) {
	for _, c := range l.counts.all(func(*count) bool { return true }) {
		if c.mu.Lock(); c.lease.Left() > 0 {
			n++
		}
		c.mu.Unlock()
	}
	return n
}
