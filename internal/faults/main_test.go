package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

var strict = os.Getenv("REDISLANES_STRICT") == "1"

// parallel lets a test that mostly waits run beside others, each with servers of
// its own. The strict tests run alone.
func parallel(t *testing.T) {
	if !strict {
		t.Parallel()
	}
}

// grace is how late a call may be, apart from what the machine makes late.
func grace() time.Duration { return bound(20*time.Millisecond, 2*time.Second) }

func open(t testing.TB, c cluster.Config, addrs []string) *cluster.Client {
	t.Helper()
	client, err := c.New(servers.Within(t, 20*time.Second), addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// until waits for what another goroutine or process brings about.
func until(t testing.TB, ctx context.Context, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// promoted waits until the replica is a primary. Redis 7.0 once did not notice the death of a
// primary for a minute; after 15 s the replica is told to take over.
func promoted(t testing.TB, ctx context.Context, replica *servers.Node) {
	t.Helper()
	late := time.Now().Add(15 * time.Second)
	until(t, ctx, "the replica was promoted", func() bool {
		if time.Now().After(late) {
			t.Log("the servers have not promoted the replica, which takes over now")
			return replica.Failover(ctx, "TAKEOVER") == nil
		}
		ok, err := replica.IsPrimary(ctx)
		return err == nil && ok
	})
}

// A load is callers that count, each call every key once, and what they were
// told.
type load struct {
	keys     []string
	deadline time.Duration // of each call; 0: none

	calls, failedCalls atomic.Int64
	acknowledged       []atomic.Int64
	unknown            []atomic.Int64
	undone             []atomic.Int64 // refused or not sent
	stray              atomic.Value   // an error without an outcome

	mu    sync.Mutex
	late  []time.Duration // how long after its deadline each call was back
	first error           // of a call that failed

	stop    context.CancelFunc
	callers sync.WaitGroup

	bare     [servers.BareWaits]time.Duration // how late bare waits were, unless strict
	stopBare func()
}

func startLoad(client *cluster.Client, callers int, keys []string, deadline time.Duration) *load {
	n := len(keys)
	l := &load{keys: keys, deadline: deadline, acknowledged: make([]atomic.Int64, n),
		unknown: make([]atomic.Int64, n), undone: make([]atomic.Int64, n)}
	ctx, cancel := context.WithCancel(context.Background())
	l.stop, l.stopBare = cancel, func() {}
	if !strict {
		l.stopBare = servers.StartBareWaits(func(i int, deadline, back time.Time) {
			l.bare[i] = max(l.bare[i], back.Sub(deadline))
		})
	}
	for range callers {
		l.callers.Go(func() {
			p := pipeline.New(client)
			for ctx.Err() == nil {
				_ = l.call(p)
				rest()
			}
		})
	}
	return l
}

// rest is what a caller waits between two calls, so that a load leaves the
// processors room for the servers, what happens to them, and other tests. The
// strict tests run alone, and at full load.
func rest() {
	if !strict {
		<-time.After(20 * time.Millisecond)
	}
}

func (l *load) call(p *pipeline.Pipeline) error {
	p.Reset()
	totals := make([]pipeline.Reply, len(l.keys))
	for i, key := range l.keys {
		totals[i] = p.IncrBy(key, 1)
		p.Expire(key, time.Hour)
	}
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if l.deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, l.deadline)
	}
	began := time.Now()
	err := p.Do(ctx)
	late := time.Since(began) - l.deadline
	cancel()
	l.calls.Add(1)
	if err != nil {
		l.failedCalls.Add(1)
	}
	l.mu.Lock()
	if l.deadline > 0 {
		l.late = append(l.late, late)
	}
	if l.first == nil {
		l.first = err
	}
	l.mu.Unlock()
	for i, r := range totals {
		switch err := r.Err(); {
		case err == nil:
			l.acknowledged[i].Add(1)
		case errors.Is(err, redislanes.ErrUnknownOutcome):
			l.unknown[i].Add(1)
		case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrRefused):
			l.undone[i].Add(1)
		default:
			l.stray.Store(err)
		}
	}
	return err
}

func (l *load) end() {
	l.stop()
	l.callers.Wait()
	l.stopBare()
}

// inTime looks whether all calls were back in time, which have ended. What the
// machine makes late is no fault of the client's.
func (l *load) inTime(t *testing.T) {
	t.Helper()
	l.stopBare()
	require.LessOrEqual(t, l.worst(), grace()+slices.Max(l.bare[:]), "a bare wait was late by %v", slices.Max(l.bare[:]))
}

// worst returns how late the latest call was.
func (l *load) worst() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.late) == 0 {
		return 0
	}
	return slices.Max(l.late)
}

func (l *load) String() string {
	return fmt.Sprintf("%d calls, %d with errors; INCRBY: %d acknowledged, %d unknown, %d not executed",
		l.calls.Load(), l.failedCalls.Load(), sum(l.acknowledged), sum(l.unknown), sum(l.undone))
}

func sum(counts []atomic.Int64) (n int64) {
	for i := range counts {
		n += counts[i].Load()
	}
	return n
}

// verify compares what the callers were told with what the cluster holds. After
// a failover that was not graceful, Redis may have lost acknowledged writes.
func (l *load) verify(t *testing.T, client *cluster.Client, lossless bool) {
	t.Helper()
	require.Nil(t, l.stray.Load(), "an error without an outcome")
	ctx := servers.Within(t, 20*time.Second)
	for i, key := range l.keys {
		var held int64
		require.NoError(t, client.Do(ctx, radix.Cmd(&held, "GET", key)))
		told, unknown := l.acknowledged[i].Load(), l.unknown[i].Load()
		require.LessOrEqual(t, held, told+unknown, "%s was counted twice", key)
		if lossless {
			require.GreaterOrEqual(t, held, told, "%s has lost counts", key)
		}
	}
}
