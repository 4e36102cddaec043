package share_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota/share"
	"github.com/redislanes/redislanes/internal/race"
)

// TestMinute: clients that want more than the limit are admitted at most all of it in a long window, in which shares
// change seldom, and at least 96 %.
func TestMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 600)
	w.s.Window = time.Minute
	w.b = share.New(w.s)
	w.b.SetCapacity(600, 600)
	w.greedy = true
	for range 10 {
		w.join(2)
	}
	used := func() { // the world checks that it is at most the limit
		hits := 0.0
		for _, perSecond := range w.allowed(time.Minute, nil) {
			hits += 60 * perSecond
		}
		require.GreaterOrEqual(t, hits, 0.96*600)
	}
	w.run(2 * time.Minute)
	used()
	w.join(2)
	w.leave(w.clients[0])
	w.clients[0].dead = true
	w.run(3 * time.Minute)
	used()
}

// TestAnything: whatever clients do, and however the capacity changes, no more is in force than
// the capacity, and a client that gives back is not needed for that.
func TestAnything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(race.Rounds(40, 12)) {
		w := newWorld(t, seed, 1)
		w.capacity = 1 + w.rng.Int64N([]int64{5, 50, 500, 5000}[seed%4])
		w.b.SetCapacity(w.capacity, w.capacity)
		for range 40 {
			w.act(6)
			w.run(w.upTo(time.Second))
		}
	}
}

// act does one of the first so many things that may happen.
func (w *world) act(of int) {
	var c *client
	kind := w.rng.IntN(of)
	if len(w.clients) > 0 {
		c = w.clients[w.rng.IntN(len(w.clients))]
	} else if kind < 5 {
		kind = 0
	}
	switch kind {
	case 0, 1:
		demand := float64(w.capacity)
		if !w.greedy {
			demand *= w.rng.Float64()
		}
		w.join(demand)
	case 2:
		w.leave(c)
	case 3:
		c.silent = !c.silent
	case 4:
		c.demand = w.rng.Float64() * float64(w.capacity)
	case 5: // other instances want some, and get it
		w.b.SetCapacity(w.capacity, w.rng.Int64N(w.capacity+1))
		w.run(500 * time.Millisecond)
		w.b.SetCapacity(w.capacity, w.capacity)
	}
}

// TestHeld: what other instances want is given up once clients have confirmed, and not before.
func TestHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 1000)
	for range 4 {
		w.join(1000)
	}
	w.run(5 * time.Second)
	require.GreaterOrEqual(t, w.b.Held(w.now), int64(980))
	w.b.SetCapacity(1000, 500)
	w.b.Decide(w.now, w.now.Add(time.Hour))
	require.GreaterOrEqual(t, w.b.Held(w.now), int64(980))
	w.run(5 * time.Second)
	require.LessOrEqual(t, w.b.Held(w.now), int64(500))
	require.Greater(t, w.b.Held(w.now), int64(480))
}

func newBucket(capacity int64) (b *share.Bucket, now time.Time) {
	w := newWorld(nil, 0, capacity)
	return w.b, w.now
}

// TestIdle: a bucket without hits is abandoned, and begins again with the next report.
func TestIdle(t *testing.T) {
	t.Parallel()
	b, now := newBucket(100)
	abandoned := 0
	for end := now.Add(settings.Idle + 10*time.Second); now.Before(end) && abandoned == 0; now = now.Add(time.Second) {
		b.Report(now, 1, 0, 0)
		for _, a := range b.Decide(now, now.Add(time.Hour)) {
			if a.Abandon {
				abandoned++
			}
		}
	}
	require.Equal(t, 1, abandoned)
	now = now.Add(time.Minute)
	b.Decide(now, now.Add(time.Hour))
	require.True(t, b.Empty())
	b.Report(now, 1, 1, 0)
	require.Positive(t, b.Decide(now, now.Add(time.Hour))[0].Share)
}

// TestUntil: no assignment is sent that would end too late.
func TestUntil(t *testing.T) {
	t.Parallel()
	b, now := newBucket(100)
	b.Report(now, 1, 1, 0)
	long := settings.TTL + settings.Delivery
	require.Empty(t, b.Decide(now, now.Add(long-1)))
	require.Len(t, b.Decide(now, now.Add(long)), 1)
	require.Equal(t, now.Add(long), b.Ends())
}

// TestFair: the parts are whole, add up, and are fair.
func TestFair(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		total       int64
		wants, want []int64
	}{
		{10, []int64{100, 100, 100}, []int64{4, 3, 3}},
		{10, []int64{1, 100, 100}, []int64{1, 5, 4}},
		{10, []int64{1, 2, 3}, []int64{3, 3, 4}},
		{0, []int64{1, 2}, []int64{0, 0}},
		{-5, []int64{1, 2}, []int64{0, 0}},
		{7, nil, []int64{}},
		{2, []int64{5, 5, 5}, []int64{1, 1, 0}},
	} {
		require.Equal(t, c.want, share.Fair(c.total, c.wants), "%d among %v", c.total, c.wants)
	}
}

// TestConfirm: a share that is taken away is in force until a report that the client has sent after it
// had the smaller one. A report that crosses the assignment says nothing, and none if that was not sent.
func TestConfirm(t *testing.T) {
	t.Parallel()
	b, now := newBucket(1000)
	decide := func() {
		for range 3 {
			for _, a := range b.Decide(now, now.Add(time.Hour)) {
				b.Sent(now, a.ID)
			}
		}
	}
	for range 5 {
		b.Report(now, 1, 1000, 0)
		decide()
		now = now.Add(time.Second)
	}
	require.GreaterOrEqual(t, b.Held(now), int64(985))
	b.SetCapacity(1000, 500)
	require.Len(t, b.Decide(now, now.Add(time.Hour)), 1)
	now = now.Add(settings.Delivery)
	b.Report(now, 1, 100, 0)
	require.GreaterOrEqual(t, b.Held(now), int64(985), "it was not sent")
	require.False(t, b.Sent(now, 1), "it is too late")
	decide()
	now = now.Add(settings.Delivery - 1)
	b.Report(now, 1, 100, 0)
	require.GreaterOrEqual(t, b.Held(now), int64(985))
	now = now.Add(1)
	b.Report(now, 1, 100, 0)
	require.LessOrEqual(t, b.Held(now), int64(500))
}

// TestShrinkTwice: a client that confirms nothing may follow each of its assignments until that ends.
func TestShrinkTwice(t *testing.T) {
	t.Parallel()
	b, began := newBucket(1000)
	now := began
	until := func(after time.Duration) {
		for ; now.Before(began.Add(after)); now = now.Add(step) {
			for _, a := range b.Decide(now, now.Add(time.Hour)) {
				b.Sent(now, a.ID)
			}
		}
	}
	for after := range 5 {
		until(time.Duration(after) * 100 * time.Millisecond)
		b.Report(now, 1, 100, 0)
	}
	until(500 * time.Millisecond)
	b.SetCapacity(500, 500)
	until(1900 * time.Millisecond)
	b.SetCapacity(100, 100)
	until(2900 * time.Millisecond) // that of 985 has ended
	require.GreaterOrEqual(t, b.Held(now), int64(495))
	until(5 * time.Second)
	require.Zero(t, b.Held(now))
}

// TestGreedy: clients that always have hits to spare are never admitted more than the capacity in a window,
// whoever joins, leaves, becomes silent or comes back.
func TestGreedy(t *testing.T) {
	t.Parallel()
	for seed := range uint64(race.Rounds(21, 7)) { // each capacity
		w := newWorld(t, seed, []int64{1, 2, 15, 50, 300, 1000, 5000}[seed%7])
		w.greedy = true
		for range 25 {
			w.act(4)
			w.run(w.upTo(2 * time.Second))
		}
	}
}
