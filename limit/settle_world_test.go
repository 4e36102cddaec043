package limit

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestSettleIsTriedAgain: in the background, if Redis refuses it, until it is taken.
func TestSettleIsTriedAgain(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l := w.limiter(t, Config{NearCache: -1, Observer: seen})
				tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				less, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
				require.True(t, result.Allowed)
				more, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
				require.True(t, result.Allowed)
				for _, n := range w.model.Nodes() {
					n.Refuse("evalsha", model.OutOfSpace, 0)
					n.Refuse("eval", model.OutOfSpace, 0)
				}
				require.ErrorIs(t, less.Settle(t.Context(), 300), redislanes.ErrRefused)
				err := more.Settle(t.Context(), 450)
				require.ErrorIs(t, err, redislanes.ErrRefused)
				require.ErrorContains(t, err, "1 of 1 costs are not settled; the limiter tries 1 of them again in the background")
				time.Sleep(time.Minute)
				require.Equal(t, [5]int64{800, 0, 0}, seen.sums())
				for _, n := range w.model.Nodes() {
					n.Refuse("evalsha", "", 0)
					n.Refuse("eval", "", 0)
				}
				time.Sleep(time.Minute)
				require.Equal(t, [5]int64{850, 100, 0}, seen.sums())
				require.ErrorIs(t, less.Settle(t.Context(), 300), ErrSettled)
			})
		})
	}
}

// TestCancelOfALeaseIsTriedAgain: the tokens of a lease lie ahead of what the bucket has, and can be given
// back until they have flowed in.
func TestCancelOfALeaseIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(ledger)
		l := w.limiter(t, Config{NearCache: -1, Observer: seen})
		hit := Request{Limit: l.must(t, Rule{Name: "tokens", Quota: 100, Window: time.Minute, Algorithm: TokenBucket}), Key: "k"}
		for range 9 {
			require.True(t, l.Allow(t.Context(), hit).Allowed)
			time.Sleep(500 * time.Millisecond)
		}
		r, result := l.Reserve(t.Context(), hit)
		require.True(t, result.Each[0].Leased)
		require.Less(t, result.Each[0].ResetAfter, 5*time.Second)
		refuse := func(reply model.Refusal) {
			for _, n := range w.model.Nodes() {
				n.Refuse("evalsha", reply, 0)
				n.Refuse("eval", reply, 0)
			}
		}
		refuse(model.OutOfSpace)
		require.ErrorContains(t, r.Cancel(t.Context()), "in the background")
		time.Sleep(result.Each[0].ResetAfter + time.Second)
		refuse("")
		time.Sleep(time.Minute)
		require.Zero(t, seen.sums()[sumLost])
	})
}

// TestSettleWithoutReplies: an adjustment that may have run is repeated for 20 s, and counts
// once.
func TestSettleWithoutReplies(t *testing.T) {
	for name, c := range map[string]struct {
		silence time.Duration
		sums    [5]int64
	}{
		"15 s":      {15 * time.Second, [5]int64{401, 101, 0}},
		"2 minutes": {2 * time.Minute, [5]int64{401, 1, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l := w.limiter(t, Config{NearCache: -1, Observer: seen})
				tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: 30 * 24 * time.Hour})
				atWindow(time.Hour)
				r, _ := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k"})
				require.NoError(t, r.Cancel(t.Context())) // the server knows the script
				r, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
				require.True(t, result.Allowed)
				lift := w.net.Impose("", "", simnet.Conditions{Partition: simnet.ToClient})
				require.ErrorIs(t, r.Settle(t.Context(), 300), errSettling)
				time.Sleep(c.silence)
				lift()
				time.Sleep(2 * time.Minute)
				require.Equal(t, c.sums, seen.sums())
				require.EqualValues(t, 300, l.count(t, tokens, "k"))
			})
		})
	}
}

// TestSettleWithoutItsCaller: it takes no longer than the budget and the context, and goes on
// behind them.
func TestSettleWithoutItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{NearCache: -1})
		tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour})
		atWindow(time.Hour)
		one, _ := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
		two, _ := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
		w.net.Impose("", "", simnet.Conditions{Latency: time.Second})
		began := time.Now()
		require.ErrorIs(t, one.Cancel(t.Context()), errSettling)
		require.Equal(t, 100*time.Millisecond, time.Since(began))
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, two.Settle(gone, 401), context.Canceled)
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 401, l.count(t, tokens, "k"))
	})
}

// TestSettleEndsWithTheLimiter: Close waits for the budget, and counts what is lost.
func TestSettleEndsWithTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(ledger)
		l, err := Config{NearCache: -1, Observer: seen}.New(w.client)
		require.NoError(t, err)
		tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour})
		r, _ := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		require.ErrorIs(t, r.Cancel(t.Context()), errSettling)
		began := time.Now()
		require.NoError(t, l.Close())
		require.LessOrEqual(t, time.Since(began), 110*time.Millisecond)
		require.Equal(t, [5]int64{400, 0, 400}, seen.sums())
	})
}

// TestSettleWhatWasNotCounted: hits that failed open are counted once their costs are known.
func TestSettleWhatWasNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{NearCache: -1})
		tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour})
		shadow := l.must(t, Rule{Name: "shadow", Quota: 1, Window: time.Hour, Shadow: true})
		atWindow(time.Hour)
		for key, text := range map[string]model.Refusal{
			"refused":   model.OutOfSpace,
			"forbidden": "NOPERM",
		} {
			w.refuseAll(text, "incrby")
			r, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: key, Cost: 400})
			require.True(t, result.Allowed)
			require.ErrorContains(t, result.Err, string(text))
			w.refuseAll("", "incrby")
			require.NoError(t, r.Settle(t.Context(), 30))
			require.EqualValues(t, 30, l.count(t, tokens, key))
		}

		requests := []Request{
			{Limit: tokens, Key: "k", Cost: 400}, {Limit: tokens, Key: "k", Cost: 10, Look: true},
			{Limit: shadow, Key: "k", Cost: 5}, {Limit: shadow, Key: "k", Cost: 5, Charge: true},
		}
		r, result := l.Reserve(t.Context(), requests...)
		require.True(t, result.Allowed)
		require.NoError(t, r.Settle(t.Context(), 500, 7, 7, 7))
		require.EqualValues(t, 500, l.count(t, tokens, "k"))
		require.EqualValues(t, 7, l.count(t, shadow, "k"))

		lift := w.net.Impose("", "", simnet.Conditions{Partition: simnet.ToClient})
		r, result = l.Reserve(t.Context(), Request{Limit: tokens, Key: "unknown", Cost: 400})
		require.ErrorIs(t, result.Err, redislanes.ErrUnknownOutcome)
		lift()
		time.Sleep(time.Minute)
		require.NoError(t, r.Settle(t.Context(), 30))
		require.EqualValues(t, 400, l.count(t, tokens, "unknown"), "they may be another's")
	})
}

// TestSettleBesideAnUnknownWindow: hits are counted once, also if the window before could not be
// read.
func TestSettleBesideAnUnknownWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{NearCache: -1})
		tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour, Algorithm: SlidingWindow})
		atWindow(time.Hour)
		n, found := w.model.Nodes()[0], false
		for i := 0; !found; i++ { // until only the window before is on that node
			key := strconv.Itoa(i)
			n.Refuse("incrby", model.OutOfSpace, 0)
			r, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: key, Cost: 400})
			n.Refuse("incrby", "", 0)
			require.True(t, result.Allowed)
			found = result.Err != nil && l.count(t, tokens, key) == 400
			require.NoError(t, r.Settle(t.Context(), 500))
			require.EqualValues(t, 500, l.count(t, tokens, key))
		}
	})
}

// TestSettleOpensTheNearCache: a key that was over its limit is asked about again, once hits
// were given back.
func TestSettleOpensTheNearCache(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour, Algorithm: algorithm, CountDenied: true})
				atWindow(time.Hour)
				hit := Request{Limit: tokens, Key: "k", Cost: 200}
				r, _ := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 900})
				require.False(t, l.Allow(t.Context(), hit).Allowed)
				require.True(t, l.Allow(t.Context(), hit).Near)
				require.NoError(t, r.Settle(t.Context(), 100))
				require.True(t, l.Allow(t.Context(), hit).Allowed)
			})
		})
	}
}

// TestSettleALimitOfAnotherLimiter: markers begin with the prefix of the limiter that made the limit, as the
// limit's keys do. Regression: with a prefix that has a hash tag, no marker was in the slot of the key.
func TestSettleALimitOfAnotherLimiter(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				a, b := w.limiter(t, Config{NearCache: -1}), w.limiter(t, Config{NearCache: -1, Prefix: "{b}:"})
				limit := a.must(t, Rule{Name: "tokens", Quota: 10, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				require.Zero(t, a.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 10}).Remaining)
				require.NoError(t, b.GiveBack(t.Context(), Request{Limit: limit, Key: "k", Cost: 4}))
				require.EqualValues(t, 3, a.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Remaining)
				r, result := b.Reserve(t.Context(), Request{Limit: limit, Key: "k", Cost: 3})
				require.True(t, result.Allowed)
				require.NoError(t, r.Cancel(t.Context()))
				require.EqualValues(t, 3, a.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true}).Remaining)
			})
		})
	}
}

// TestSettleLateOpensTheNearCache: the same, if Redis takes the hits only when they are tried again.
func TestSettleLateOpensTheNearCache(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l := w.limiter(t, Config{})
				tokens := l.must(t, Rule{Name: "tokens", Quota: 10, Window: 24 * time.Hour, Algorithm: algorithm, CountDenied: true})
				atWindow(24 * time.Hour)
				require.True(t, l.Allow(t.Context(), Request{Limit: tokens, Key: "k", Cost: 10}).Allowed)
				require.False(t, l.Allow(t.Context(), Request{Limit: tokens, Key: "k"}).Allowed)
				require.True(t, l.Allow(t.Context(), Request{Limit: tokens, Key: "k"}).Near)
				refuse := func(text model.Refusal) {
					for _, n := range w.model.Nodes() {
						n.Refuse("evalsha", text, 0)
						n.Refuse("eval", text, 0)
					}
				}
				refuse(model.OutOfSpace)
				require.ErrorIs(t, l.GiveBack(t.Context(), Request{Limit: tokens, Key: "k", Cost: 8}), redislanes.ErrRefused)
				refuse("")
				time.Sleep(time.Minute)
				require.True(t, l.Allow(t.Context(), Request{Limit: tokens, Key: "k"}).Allowed)
			})
		})
	}
}
