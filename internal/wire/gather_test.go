//go:build unix

package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// A crowd is batches of one PING each on one lane, whose server says which commands
// have arrived and replies when it is told to.
type crowd struct {
	t       *testing.T
	lane    *Lane
	all     []*Batch
	arrived chan struct{}
	answer  chan int
}

func newCrowd(t *testing.T, d lanes.Dialer) *crowd {
	c := &crowd{t: t, arrived: make(chan struct{}, 1000), answer: make(chan int, 1000)}
	addr := scripted(t, func(p *peer) {
		go func() {
			for n := range c.answer {
				p.send(strings.Repeat("+PONG\r\n", n))
			}
		}()
		for p.take(1) {
			c.arrived <- struct{}{}
		}
	})
	t.Cleanup(func() { close(c.answer) })
	c.lane = dialWith(t, d, addr, nil)
	return c
}

// enqueue enqueues n batches, as callers of their own do.
func (c *crowd) enqueue(n int) {
	for range n {
		b := begun([]string{"PING"})
		require.True(c.t, c.lane.Submit(b))
		Flush([]*Batch{b})
		c.all = append(c.all, b)
	}
}

func (c *crowd) waiting() int {
	until(c.t, "nobody writes", c.lane.idleWriter)
	c.lane.mu.Lock()
	defer c.lane.mu.Unlock()
	return c.lane.waiting
}

// arrive waits until n more commands have reached the server.
func (c *crowd) arrive(n int) {
	for range n {
		one := make(chan struct{})
		go func() {
			defer close(one)
			<-c.arrived
		}()
		await(c.t, "the command's arrival", one)
	}
}

// dialers are of connections that lanes write to by themselves, and of those that they
// write to from goroutines, as TLS.
var dialers = map[string]lanes.Dialer{"socket": {}, "wrapped": {NetDial: dialHidden}}

// What is enqueued behind many batches waits until it is a quarter as many, or until the
// replies to those have come, although nothing else is enqueued.
func TestBatchesGather(t *testing.T) {
	for name, d := range dialers {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, d)
			c.lane.pace.shortest.Store(int64(nearRoundTrip) - 1)
			c.enqueue(gatherFrom)
			require.Zero(t, c.waiting())
			c.enqueue(3)
			require.Equal(t, 3, c.waiting())
			c.enqueue(1)
			require.Zero(t, c.waiting())
			c.enqueue(2)
			require.Equal(t, 2, c.waiting())
			c.arrive(gatherFrom + 4)
			require.Empty(t, c.arrived)

			c.answer <- gatherFrom + 4 - 9
			c.arrive(2)
			c.answer <- 9 + 2
			for _, b := range c.all {
				require.NoError(t, b.call.Wait(within(t, patience)))
				require.Equal(t, []string{"+PONG\r\n"}, b.texts())
			}
			require.Zero(t, c.lane.InFlight())
		})
	}
}

// A writer that comes back from the socket leaves what is too little for another write
// to the replies.
func TestWritersLetOthersGather(t *testing.T) {
	c := newCrowd(t, lanes.Dialer{})
	c.lane.pace.shortest.Store(1)
	c.enqueue(gatherFrom)
	raw := c.lane.conn.socket
	try, more := raw.try, 1
	raw.try = func(fd uintptr) bool {
		if more--; more == 0 {
			b := begun([]string{"PING"})
			assert.True(t, c.lane.Submit(b))
			assert.False(t, b.flush)
			c.all = append(c.all, b)
		}
		return try(fd)
	}
	c.enqueue(gatherFrom / gatherPart)
	require.Equal(t, 1, c.waiting())
	c.answer <- gatherFrom
	c.arrive(len(c.all))
	c.answer <- len(c.all) - gatherFrom
	for _, b := range c.all {
		require.NoError(t, b.call.Wait(within(t, patience)))
	}
}

// Where a batch would wait for long, or it is not known, and where it is large, nothing
// gathers.
func TestNothingGathers(t *testing.T) {
	for name, shortest := range map[string]int64{"far": int64(nearRoundTrip), "unknown": 0} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, lanes.Dialer{})
			c.lane.pace.shortest.Store(shortest)
			c.enqueue(10 * gatherFrom)
			require.Zero(t, c.waiting())
		})
	}
	t.Run("large", func(t *testing.T) {
		c := newCrowd(t, lanes.Dialer{})
		c.lane.pace.shortest.Store(1)
		c.enqueue(gatherFrom)
		require.Zero(t, c.waiting())
		large := begun([]string{"PING", strings.Repeat("x", gatherBytes)})
		require.True(t, c.lane.Submit(large))
		Flush([]*Batch{large})
		require.Zero(t, c.waiting())
	})
}

// What may wait at most is not used up by what gathers.
func TestFullLanesDoNotGather(t *testing.T) {
	c := newCrowd(t, lanes.Dialer{})
	size := begun([]string{"PING"}).Size()
	c.lane.MaxQueued = 4 * size
	c.lane.pace.shortest.Store(1)
	c.enqueue(10 * gatherFrom) // none is refused
	c.arrive(10 * gatherFrom)
	c.enqueue(1)
	require.Equal(t, 1, c.waiting())
	c.enqueue(1)
	require.Zero(t, c.waiting())
}

// A lane that fails has not sent what gathered.
func TestGatheredAreNotSent(t *testing.T) {
	for name, d := range dialers {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, d)
			c.lane.pace.shortest.Store(1)
			c.enqueue(gatherFrom)
			require.Zero(t, c.waiting())
			c.enqueue(2)
			require.Equal(t, 2, c.waiting())
			require.NoError(t, c.lane.Close())
			for i, b := range c.all {
				require.NoError(t, b.call.Wait(within(t, patience)))
				_, err := b.Reply(0)
				if i < gatherFrom {
					wantOutcome(t, err, redislanes.ErrUnknownOutcome)
				} else {
					wantOutcome(t, err, redislanes.ErrNotSent)
				}
			}
		})
	}
}
