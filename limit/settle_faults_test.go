package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// A tally has the fewest and the most hits that may be counted on each key.
type tally struct {
	mu   sync.Mutex
	sums map[string][2]int64
}

func (y *tally) add(key string, fewest, most int64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	sum := y.sums[key]
	y.sums[key] = [2]int64{sum[0] + fewest, sum[1] + most}
}

// TestSettleUnderFaults: whatever the network and the servers do for some seconds, Settle tries until reservations
// have come to their actual costs.
func TestSettleUnderFaults(t *testing.T) {
	for seed := range uint64(race.Rounds(8, 4)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 7))
				w := newWorld(t)
				l := w.limiter(t, Config{NearCache: -1, Budget: returnTime})
				tokens := l.must(t, Rule{Name: "tokens", Quota: mostLimit, Window: time.Hour, Algorithm: algorithms[seed%2], NoLease: true}) // a refill may be lost
				atWindow(time.Hour)
				ought := tally{sums: make(map[string][2]int64)}
				end := time.Now().Add(30 * time.Second)
				var callers sync.WaitGroup
				for i := range uint64(6) {
					callers.Go(func() { useTokens(t, l, tokens, rand.New(rand.NewPCG(seed, i)), end, &ought) })
				}
				for time.Now().Before(end) {
					disturb(w, random)
				}
				callers.Wait()
				time.Sleep(time.Minute)
				for key, sum := range ought.sums {
					n := l.count(t, tokens, key)
					require.True(t, sum[0] <= n && n <= sum[1], "%s: %d, want %d to %d", key, n, sum[0], sum[1])
				}
			})
		})
	}
}

// useTokens reserves and settles until the end. Only of hits whose outcome is unknown nobody can
// say whether they are counted.
func useTokens(t *testing.T, l *Limiter, tokens *Limit, random *rand.Rand, end time.Time, ought *tally) {
	for time.Now().Before(end) {
		key, estimate, actual := fmt.Sprint("k", random.IntN(8)), 1+random.Int64N(100), random.Int64N(150)
		r, result := l.Reserve(context.Background(), Request{Limit: tokens, Key: key, Cost: estimate})
		time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		assert.NoError(t, r.Settle(context.Background(), actual))
		if result.Err == nil || !cause.MayHaveRun(result.Err) {
			ought.add(key, actual, actual)
		} else {
			ought.add(key, max(0, actual-estimate), max(estimate, actual))
		}
	}
}

// disturb does something to the cluster for up to three seconds, and then nothing.
func disturb(w *world, random *rand.Rand) {
	n := w.model.Nodes()[random.IntN(3)]
	var end func()
	switch random.IntN(4) {
	case 0:
		end = w.net.Impose("", n.Addr(), simnet.Conditions{Partition: simnet.Both})
	case 1:
		end = w.net.Impose("", n.Addr(), simnet.Conditions{Partition: simnet.ToClient})
	case 2:
		end = w.net.Impose("", n.Addr(), simnet.Conditions{Latency: 200 * time.Millisecond})
	default:
		for _, name := range []string{"evalsha", "eval", "incrby"} {
			n.Refuse(name, model.OutOfSpace, 0)
		}
		end = func() {
			for _, name := range []string{"evalsha", "eval", "incrby"} {
				n.Refuse(name, "", 0)
			}
		}
	}
	time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
	end()
	time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
}
