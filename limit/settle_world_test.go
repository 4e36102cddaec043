package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestSettleAgain: what Redis refuses is tried again within the budget, and by the next Settle with these costs.
func TestSettleAgain(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, seen := newWorld(t), new(ledger)
				l := w.limiter(t, Config{NearCache: -1, Observer: seen})
				tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour, Algorithm: algorithm})
				other := l.must(t, Rule{Name: "other", Quota: 1000, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				r, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: "a", Cost: 400}, Request{Limit: other, Key: "b", Cost: 40})
				require.True(t, result.Allowed)
				began := time.Now()
				w.refuseAll(model.OutOfSpace, "evalsha", "eval")
				err := r.Settle(t.Context(), 300, 45)
				require.ErrorIs(t, err, redislanes.ErrRefused)
				require.ErrorContains(t, err, "limit: 2 of 2 costs are not settled, and 0 of these have an unknown outcome: ")
				require.WithinDuration(t, began.Add(l.cfg.Budget), time.Now(), 50*time.Millisecond)
				require.ErrorIs(t, r.Settle(t.Context(), 301, 45), ErrSettled)
				require.ErrorIs(t, r.Cancel(t.Context()), ErrSettled)
				time.Sleep(time.Minute)
				require.ErrorIs(t, r.Settle(t.Context(), 300, 45), redislanes.ErrRefused)
				require.Equal(t, [4]int64{440, 0, 105}, seen.sums())
				time.AfterFunc(30*time.Millisecond, func() { w.refuseAll("", "evalsha", "eval") })
				require.NoError(t, r.Settle(t.Context(), 300, 45))
				require.Equal(t, [4]int64{445, 100, 105}, seen.sums())
				require.ErrorIs(t, r.Settle(t.Context(), 300, 45), ErrSettled)
			})
		})
	}
}

// TestSettleSomeAgain: what is settled is not sent again.
func TestSettleSomeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{NearCache: -1})
		tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour})
		atWindow(time.Hour)
		var requests []Request
		keys := []string{"a", "b", "c", "d", "e", "f"}
		for _, key := range keys {
			requests = append(requests, Request{Limit: tokens, Key: key, Cost: 40})
		}
		r, result := l.Reserve(t.Context(), requests...)
		require.True(t, result.Allowed)
		n := w.model.Nodes()[0]
		n.Refuse("evalsha", model.OutOfSpace, 0)
		n.Refuse("eval", model.OutOfSpace, 0)
		require.ErrorIs(t, r.Settle(t.Context(), 1, 2, 3, 4, 5, 60), redislanes.ErrRefused)
		require.NotEmpty(t, r.open)
		require.Less(t, len(r.open), 6)
		n.Refuse("evalsha", "", 0)
		n.Refuse("eval", "", 0)
		require.NoError(t, r.Settle(t.Context(), 1, 2, 3, 4, 5, 60))
		for i, key := range keys {
			require.EqualValues(t, []int64{1, 2, 3, 4, 5, 60}[i], l.count(t, tokens, key))
		}
	})
}

// TestSettleWithoutReplies: what may have run is not sent again by another Settle, and counts once.
func TestSettleWithoutReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{NearCache: -1})
		tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: 30 * 24 * time.Hour})
		atWindow(time.Hour)
		r, _ := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k"})
		require.NoError(t, r.Cancel(t.Context())) // the server knows the script
		r, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
		require.True(t, result.Allowed)
		lift := w.net.Impose("", "", simnet.Conditions{Partition: simnet.ToClient})
		err := r.Settle(t.Context(), 300)
		require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
		require.ErrorContains(t, err, "limit: 1 of 1 costs are not settled, and 1 of these have an unknown outcome: ")
		lift()
		time.Sleep(3 * time.Second)
		require.ErrorIs(t, r.Settle(t.Context(), 300), ErrSettled)
		require.EqualValues(t, 300, l.count(t, tokens, "k"))
	})
}

// TestSettleWithinItsTime: it takes no longer than the budget and the context.
func TestSettleWithinItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{NearCache: -1})
		tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour})
		atWindow(time.Hour)
		r, _ := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k"})
		require.NoError(t, r.Cancel(t.Context())) // the server knows the script
		one, _ := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
		two, _ := l.Reserve(t.Context(), Request{Limit: tokens, Key: "k", Cost: 400})
		lift := w.net.Impose("", "", simnet.Conditions{Latency: time.Second})
		began := time.Now()
		require.ErrorIs(t, one.Cancel(t.Context()), redislanes.ErrUnknownOutcome)
		require.Equal(t, 100*time.Millisecond, time.Since(began))
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, two.Settle(gone, 401), context.Canceled)
		require.Equal(t, 100*time.Millisecond, time.Since(began))
		lift()
		time.Sleep(5 * time.Second)
		require.ErrorIs(t, one.Cancel(t.Context()), ErrSettled, "it may have been")
		require.NoError(t, two.Settle(t.Context(), 401))
		require.EqualValues(t, 401, l.count(t, tokens, "k"))
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
		writes := []string{"set", "incrby", "increx", "evalsha", "eval"}
		for key, text := range map[string]model.Refusal{
			"refused":   model.OutOfSpace,
			"forbidden": "NOPERM",
		} {
			w.refuseAll(text, writes...)
			r, result := l.Reserve(t.Context(), Request{Limit: tokens, Key: key, Cost: 400})
			require.True(t, result.Allowed)
			require.ErrorContains(t, result.Err, string(text))
			w.refuseAll("", writes...)
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

// TestSettleOpensTheNearCache: a key that was over its limit is asked about again, once hits
// were given back.
func TestSettleOpensTheNearCache(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour, Algorithm: algorithm})
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

// TestReservedTokensAreNotLeased: tokens of a lease cannot be given back.
func TestReservedTokensAreNotLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		tokens := Request{Limit: l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour, Algorithm: TokenBucket}), Key: "k"}
		for range 100 {
			r, result := l.Reserve(t.Context(), tokens)
			require.True(t, result.Allowed)
			require.False(t, result.Leased)
			time.Sleep(10 * time.Millisecond)
			require.NoError(t, r.Cancel(t.Context()))
		}
		tokens.Look = true
		require.EqualValues(t, 1000, l.Allow(t.Context(), tokens).Remaining)
	})
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
