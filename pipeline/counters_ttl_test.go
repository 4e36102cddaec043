package pipeline_test

import (
	"context"
	"fmt"
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
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// immortal returns the keys of the server without a time to live.
func immortal(t *testing.T, server *servers.Cluster, keys []string) (found []string) {
	t.Helper()
	p := pipeline.New(open(t, cluster.Config{}, server.Addrs()))
	left := make([]pipeline.Reply, len(keys))
	for i, key := range keys {
		left[i] = p.Cmd("PTTL", key)
	}
	require.NoError(t, p.Do(within(t, 20*time.Second)))
	for i, r := range left {
		if ms, err := r.Int(); err != nil || ms == -1 {
			found = append(found, fmt.Sprintf("%s (%v)", keys[i], err))
		}
	}
	return found
}

// TestMemoryStorm: a server whose memory is full by turns refuses INCRBY, but not
// EXPIRE. It leaves no key without its time to live.
func TestMemoryStorm(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	client := open(t, cluster.Config{}, server.Addrs())
	counters := pipeline.NewCounters(client, pipeline.CountersConfig{})
	ctx := within(t, 30*time.Second)
	const callers, perKey, enough = 32, 8, 2000
	var hits, counted, refused atomic.Int64
	var calm atomic.Bool
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for !calm.Load() && ctx.Err() == nil {
				key := fmt.Sprint("storm:", hits.Add(1)/perKey)
				if counters.Hit(ctx, []pipeline.Hit{{Key: key, By: 1, TTL: time.Hour}}) == nil {
					counted.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	for turn := 0; turn < 200 || counted.Load() < enough || refused.Load() < enough; turn++ {
		memory := []string{"1", "0"}[turn%2]
		require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CONFIG", "SET", "maxmemory", memory))
	}
	calm.Store(true)
	wg.Wait()
	require.NoError(t, counters.Close())
	require.NoError(t, ctx.Err())
	var keys []string
	for i := range hits.Load()/perKey + 1 {
		keys = append(keys, fmt.Sprint("storm:", i))
	}
	t.Logf("%d hits counted, %d refused, %d keys", counted.Load(), refused.Load(), len(keys))
	require.Empty(t, immortal(t, server, keys))
}

// TestRefusedFlight: an error by which the server refuses the sum is that of each
// hit. They are not counted one by one, behind their EXPIRE.
func TestRefusedFlight(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	first := w.hold(t, &pipeline.Hit{Key: "other", By: 1})
	full := w.lead(within(t, 20*time.Second), &pipeline.Hit{Key: "k", By: 0, TTL: time.Hour})
	require.Eventually(t, func() bool { return w.Calls(0, "EXPIRE") == 1 }, 10*time.Second, 100*time.Microsecond)
	w.Nodes()[0].Del("k")
	hits := []pipeline.Hit{{Key: "k", By: 1, TTL: time.Hour}, {Key: "k", By: 2, TTL: time.Hour}}
	others := w.gather(t, hits)
	var refused atomic.Bool
	w.Inject(0, func(cmd string, _ []string) string {
		if cmd == "INCRBY" && !refused.Swap(true) {
			return "OOM command not allowed when used memory > 'maxmemory'."
		}
		return ""
	})
	w.proxy.Flow(redistest.ToClient)
	require.NoError(t, <-first)
	require.NoError(t, <-full)
	for i := range hits {
		require.ErrorContains(t, <-others[i], "OOM")
		require.ErrorContains(t, hits[i].Err, "OOM")
		require.Zero(t, hits[i].Total)
	}
	require.False(t, w.Nodes()[0].Exists("k"))
}

// TestPartsExpire: hits that go one by one since their sum would overflow have
// their own EXPIRE each.
func TestPartsExpire(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	first := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
	hits := []pipeline.Hit{{Key: "k", By: 1, TTL: time.Hour}, {Key: "k", By: 2}, {Key: "k", By: 4, TTL: time.Minute}}
	others := w.gather(t, hits)
	var refused atomic.Bool
	w.Inject(0, func(cmd string, _ []string) string {
		if cmd == "INCRBY" && !refused.Swap(true) {
			w.Nodes()[0].Del("k") // its window ends, after the sum was refused
			return "ERR increment or decrement would overflow"
		}
		return ""
	})
	w.proxy.Flow(redistest.ToClient)
	require.NoError(t, <-first)
	for i, want := range []int64{1, 3, 7} {
		require.NoError(t, <-others[i])
		require.Equal(t, want, hits[i].Total)
	}
	require.Equal(t, time.Hour, w.Nodes()[0].TTL("k"))
	require.Equal(t, 3, w.Calls(0, "EXPIRE"), "of the sum, and of two parts")
}

// TestCutHitExpires: wherever the connection breaks in a hit, a key that exists
// afterwards has its time to live, also if it was known to have one and was deleted
// meanwhile.
func TestCutHitExpires(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	const incrby = len("*3\r\n$6\r\nINCRBY\r\n$6\r\nc00000\r\n$1\r\n1\r\n")
	const expire = len("*4\r\n$6\r\nEXPIRE\r\n$6\r\nc00000\r\n$4\r\n3600\r\n$2\r\nNX\r\n")
	hit := func(key string, known bool, arm func() <-chan struct{}) {
		ctx := within(t, 20*time.Second)
		client, err := cluster.Config{Pool: pool.Laned{Lanes: 1}, RefreshEvery: -1}.New(ctx, []string{proxy.Addr()})
		require.NoError(t, err)
		defer client.Close()
		counters := pipeline.NewCounters(client, pipeline.CountersConfig{})
		hits := []pipeline.Hit{{Key: key, By: 1, TTL: time.Hour}}
		if known {
			require.NoError(t, counters.Hit(ctx, hits))
		}
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "DEL", key))) // the connection is there
		cut := arm()
		_ = counters.Hit(ctx, hits)
		<-cut
		require.NoError(t, counters.Close())
	}
	var keys []string
	for i, known := range []bool{false, true} {
		for d, size := range map[redistest.Direction]int{redistest.ToServer: incrby + expire, redistest.ToClient: len(":1\r\n:1\r\n")} {
			for n := range size {
				key := fmt.Sprintf("c%d%d%03d", i, d, n)
				keys = append(keys, key)
				hit(key, known, func() <-chan struct{} { return proxy.CutAfter(d, n) })
			}
		}
	}
	require.Empty(t, immortal(t, server, keys))
}

// TestTimeToLiveOnce: the first hit begins the window, the others do not move it,
// also on a server that does not know EXPIRE NX; a key that a lost reply has left
// without a window gets one.
func TestTimeToLiveOnce(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"Redis 7": false, "older": true} {
		t.Run(name, func(t *testing.T) {
			w := newTower(t, pipeline.CountersConfig{})
			var tried atomic.Int64
			if old {
				w.Inject(0, func(cmd string, args []string) string {
					if cmd == "EXPIRE" && len(args) > 2 {
						tried.Add(1)
						return "ERR wrong number of arguments for 'expire' command"
					}
					return ""
				})
			}
			ctx := within(t, 10*time.Second)
			hit := func(key string, ttl time.Duration) int64 {
				hits := []pipeline.Hit{{Key: key, By: 2, TTL: ttl}}
				require.NoError(t, w.counters.Hit(ctx, hits))
				return hits[0].Total
			}
			for i := range 3 {
				require.EqualValues(t, 2*(i+1), hit("k", time.Duration(i+1)*time.Minute))
				require.Equal(t, time.Minute, w.Nodes()[0].TTL("k"))
			}
			w.Nodes()[0].FastForward(time.Minute)
			require.EqualValues(t, 2, hit("k", 1500*time.Millisecond), "the window has ended")
			require.Equal(t, 1500*time.Millisecond, w.Nodes()[0].TTL("k"))

			require.NoError(t, w.Nodes()[0].Set("lost", "40"))
			require.EqualValues(t, 42, hit("lost", time.Minute))
			require.Equal(t, time.Minute, w.Nodes()[0].TTL("lost"))
			if old {
				require.EqualValues(t, 1, tried.Load(), "found out once")
			}
		})
	}
}

// TestScriptFollowsItsCounter: where a script stands in for EXPIRE NX, too, an
// INCRBY that was refused for now goes again, and what sets its time to live behind
// it.
func TestScriptFollowsItsCounter(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	var busy atomic.Bool
	w.Inject(0, func(cmd string, args []string) string {
		switch {
		case cmd == "EXPIRE" && len(args) > 2:
			return "ERR wrong number of arguments for 'expire' command"
		case cmd == "INCRBY" && busy.Swap(false):
			return "LOADING Redis is loading the dataset in memory"
		}
		return ""
	})
	ctx := within(t, 10*time.Second)
	require.NoError(t, w.counters.Hit(ctx, []pipeline.Hit{{Key: "first", By: 1, TTL: time.Minute}}))
	busy.Store(true)
	require.NoError(t, w.counters.Hit(ctx, []pipeline.Hit{{Key: "k", By: 1, TTL: time.Minute}}))
	require.Equal(t, time.Minute, w.Nodes()[0].TTL("k"))
	require.False(t, busy.Load())
}

// TestExpireEveryHit: each hit moves the key's end.
func TestExpireEveryHit(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{ExpireEveryHit: true})
	for _, ttl := range []time.Duration{time.Minute, time.Hour, time.Second} {
		require.NoError(t, w.counters.Hit(within(t, 10*time.Second), []pipeline.Hit{{Key: "k", By: 1, TTL: ttl}}))
		require.Equal(t, ttl, w.Nodes()[0].TTL("k"))
	}
}

// TestTakenBackWithItsTTL: a hit that leaves its flight takes its time to live
// along.
func TestTakenBackWithItsTTL(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	first := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
	stays := []pipeline.Hit{{Key: "k", By: 10, TTL: time.Minute}, {Key: "plain", By: 1}}
	alone := w.lead(within(t, 20*time.Second), &pipeline.Hit{Key: "plain", By: 1})
	require.Eventually(t, func() bool { return w.Calls(0, "INCRBY") == 3 }, 10*time.Second, 100*time.Microsecond)
	others := w.gather(t, stays)
	ctx, cancel := context.WithCancel(t.Context())
	leaves := []pipeline.Hit{{Key: "k", By: 100, TTL: time.Hour}, {Key: "plain", By: 1, TTL: time.Hour}}
	var left []chan error
	for i := range leaves {
		left = append(left, w.hit(ctx, &leaves[i]))
		w.awaitWaiting(t, leaves[i].Key, 2)
	}
	cancel()
	for i, done := range left {
		require.ErrorIs(t, <-done, context.Canceled)
		require.ErrorIs(t, leaves[i].Err, redislanes.ErrNotSent)
	}
	w.proxy.Flow(redistest.ToClient)
	for _, done := range slices.Concat([]chan error{first, alone}, others) {
		require.NoError(t, <-done)
	}
	require.Equal(t, time.Minute, w.Nodes()[0].TTL("k"))
	require.Zero(t, w.Nodes()[0].TTL("plain"), "nobody who stayed asked for a time to live")
}

// TestOnlyExpireFails: who asked for a time to live is told, with the total and
// what it means; who did not, is not.
func TestOnlyExpireFails(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	w.Inject(0, func(cmd string, _ []string) string {
		if cmd == "EXPIRE" {
			return "NOPERM this user has no permissions to run the 'expire' command"
		}
		return ""
	})
	first := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
	hits := []pipeline.Hit{{Key: "k", By: 10}, {Key: "k", By: 100, TTL: time.Minute}}
	others := w.gather(t, hits)
	w.proxy.Flow(redistest.ToClient)
	require.NoError(t, <-first)
	require.NoError(t, <-others[0])
	require.NoError(t, hits[0].Err)
	require.EqualValues(t, 11, hits[0].Total)
	require.ErrorIs(t, <-others[1], redislanes.ErrExpiry)
	require.EqualValues(t, 111, hits[1].Total)
	err := hits[1].Err
	require.ErrorIs(t, err, redislanes.ErrExpiry)
	require.ErrorContains(t, err, "NOPERM")
	var command *redislanes.CommandError
	require.ErrorAs(t, err, &command)
	require.Equal(t, "EXPIRE", command.Command)
	require.NotErrorIs(t, err, redislanes.ErrNotSent)
	require.NotErrorIs(t, err, redislanes.ErrUnknownOutcome)
}

// A lateExpiry refuses each EXPIRE with what it says, and ends the context when
// INCRBY has its reply: at the second try.
type lateExpiry struct {
	says atomic.Value // string
	ctx  context.Context
}

func refuseExpiry(t *testing.T, e *redistest.Emulated) *lateExpiry {
	ctx, cancel := context.WithCancel(within(t, 20*time.Second))
	late := &lateExpiry{ctx: ctx}
	late.says.Store("LOADING Redis is loading the dataset in memory")
	tries := 0
	e.Inject(0, func(cmd string, _ []string) string {
		if cmd != "EXPIRE" {
			return ""
		}
		if tries++; tries == 2 {
			cancel()
		}
		return late.says.Load().(string)
	})
	return late
}

// TestDebtsArePaid: a key whose call ended before its EXPIRE was done gets its
// time to live when the server answers, also if nobody hits it again.
func TestDebtsArePaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]pipeline.CountersConfig{"once": {}, "every hit": {ExpireEveryHit: true}} {
		t.Run(name, func(t *testing.T) {
			w := newTower(t, c)
			late := refuseExpiry(t, w.Emulated)
			hits := []pipeline.Hit{{Key: "k", By: 1, TTL: time.Hour}, {Key: "plain", By: 1}}
			require.ErrorIs(t, w.counters.Hit(late.ctx, hits), redislanes.ErrExpiry)
			require.NoError(t, hits[1].Err)
			require.EqualValues(t, 1, hits[0].Total)
			require.Zero(t, w.Nodes()[0].TTL("k"))
			require.Equal(t, 1, w.counters.Debts())
			late.says.Store("")
			require.Eventually(t, func() bool { return w.Nodes()[0].TTL("k") == time.Hour }, 20*time.Second, time.Millisecond)
			require.Eventually(t, func() bool { return w.counters.Debts() == 0 }, 20*time.Second, time.Millisecond)
			require.Zero(t, w.Nodes()[0].TTL("plain"))
			require.Equal(t, 2, w.Calls(0, "INCRBY")-1, "none is repeated")
		})
	}
}

// TestDebtsToOldServers: a server before Redis 7 gets the script, also if the debts are the
// first to find out that it needs it, and again if it refuses what the script does.
func TestDebtsToOldServers(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{
		"":            "",
		"no replicas": "ERR Error running script (call to f_0ab1): @user_script:1: @user_script: 1: -NOREPLICAS Not enough good replicas to write.",
		"a replica":   "READONLY You can't write against a read only replica. script: 0ab1, on @user_script:1.",
	} {
		t.Run(name, func(t *testing.T) {
			w := newTower(t, pipeline.CountersConfig{})
			late := refuseExpiry(t, w.Emulated)
			require.ErrorIs(t, w.counters.Hit(late.ctx, []pipeline.Hit{{Key: "k", By: 1, TTL: time.Hour}}), redislanes.ErrExpiry)
			require.Zero(t, w.Nodes()[0].TTL("k"))
			scripts := 0
			w.Inject(0, func(cmd string, _ []string) string {
				switch cmd {
				case "EXPIRE":
					return "ERR wrong number of arguments for 'expire' command"
				case "EVAL":
					if scripts++; scripts <= 3 {
						return refusal
					}
				}
				return ""
			})
			require.Eventually(t, func() bool { return w.counters.Debts() == 0 }, 20*time.Second, time.Millisecond)
			require.Equal(t, time.Hour, w.Nodes()[0].TTL("k"))
		})
	}
}

// TestDebtsEnd: Close ends the attempts, and so do a server that refuses for good
// and a client that is closed.
func TestDebtsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*lateExpiry, *cluster.Client, *pipeline.Counters){
		"refused for good": func(late *lateExpiry, _ *cluster.Client, _ *pipeline.Counters) { late.says.Store("WRONGTYPE no") },
		"client closed":    func(_ *lateExpiry, client *cluster.Client, _ *pipeline.Counters) { _ = client.Close() },
		"closed":           func(_ *lateExpiry, _ *cluster.Client, c *pipeline.Counters) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			e := redistest.StartEmulated(t, 1)
			late := refuseExpiry(t, e)
			client := open(t, cluster.Config{}, e.Addrs())
			counters := pipeline.NewCounters(client, pipeline.CountersConfig{})
			hits := []pipeline.Hit{{Key: "k", By: 1, TTL: time.Hour}}
			require.ErrorIs(t, counters.Hit(late.ctx, hits), redislanes.ErrExpiry)
			require.True(t, counters.Paying())
			end(late, client, counters)
			require.Eventually(t, func() bool { return !counters.Paying() }, 20*time.Second, time.Millisecond)
			require.NoError(t, counters.Close())
		})
	}
}
