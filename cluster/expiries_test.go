package cluster_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// refuse makes every node reply with the text to the first n tries of the
// command on the key, and returns how often it did.
func refuse(e *redistest.Emulated, n int32, text, name, key string) *atomic.Int32 {
	count := new(atomic.Int32)
	for node := range e.Addrs() {
		e.Inject(node, func(cmd string, args []string) string {
			if cmd == name && args[0] == key && count.Load() < n {
				count.Add(1)
				return text
			}
			return ""
		})
	}
	return count
}

// TestExpiryFollowsItsCounter: the server refuses INCRBY and runs the EXPIRE
// behind it, because what it refused for has ended in between. The key must not
// live for ever.
func TestExpiryFollowsItsCounter(t *testing.T) {
	for _, refusal := range []string{"LOADING Redis is loading", "TRYAGAIN later", "CLUSTERDOWN The cluster is down"} {
		t.Run(refusal[:4], func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 3)
			client := open(t, cluster.Config{}, e.Addrs())
			refuse(e, 1, refusal, "INCRBY", "k")
			p := pipeline.New(client)
			other := p.Expire("other", time.Minute)
			total := p.IncrBy("k", 1)
			expiry := p.Expire("k", time.Minute)
			require.NoError(t, p.Do(within(t, 5*time.Second)))
			for reply, want := range map[pipeline.Reply]int64{other: 0, total: 1, expiry: 1} {
				n, err := reply.Int()
				require.NoError(t, err)
				require.Equal(t, want, n)
			}
			node := e.Owner(cluster.Slot("k"))
			require.Equal(t, time.Minute, e.Nodes()[node].TTL("k"))
			expiries := 0
			for node := range 3 {
				expiries += e.Calls(node, "EXPIRE")
			}
			require.Equal(t, 3, expiries, "only the key's own EXPIRE runs again")
		})
	}
}

// TestExpiryDoesNotOverruleOthers: what the request does with the time to live
// afterwards stands, so INCRBY, which would need its EXPIRE again, ends as
// refused.
func TestExpiryDoesNotOverruleOthers(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, e.Addrs())
	refuse(e, 1, "TRYAGAIN later", "INCRBY", "k")
	p := pipeline.New(client)
	count := p.IncrBy("k", 1)
	p.Expire("k", time.Minute)
	p.Cmd("PERSIST", "k")
	require.Error(t, p.Do(within(t, 5*time.Second)))
	require.ErrorIs(t, count.Err(), redislanes.ErrRefused)
	require.ErrorIs(t, count.Err(), cause.ErrOvertaken)
	require.Equal(t, 1, e.Calls(0, "EXPIRE"))
	require.Zero(t, e.Calls(0, "INCRBY"))
}

// TestCountGoesAgainAsAPair: an INCRBY of Pipeline.Count that is sent again, because it was
// refused or redirected, has its SET in front of it again, in the same trip.
func TestCountGoesAgainAsAPair(t *testing.T) {
	for _, refusal := range []string{"-LOADING for a moment\r\n", "-MOVED %d " + nodeB + "\r\n", "-ASK %d " + nodeB + "\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			if strings.Contains(refusal, "%d") {
				refusal = fmt.Sprintf(refusal, cluster.Slot("k"))
			}
			var seen []string
			var mu sync.Mutex
			w := newWorld(func(addr string, cmd []string) string {
				mu.Lock()
				defer mu.Unlock()
				if cmd[0] == "SET" || cmd[0] == "INCRBY" {
					seen = append(seen, cmd[0])
				}
				switch {
				case cmd[0] == "INCRBY" && len(seen) == 2:
					return refusal
				case cmd[0] == "SET":
					return "+OK\r\n"
				}
				return one
			}, nodeA, nodeB)
			client := w.open(t, cluster.Config{RefreshEvery: -1})
			p := pipeline.New(client)
			total := p.Count("k", 1, time.Minute)
			require.NoError(t, p.Do(soon(t, 5*time.Second)))
			requireInt(t, 1, total)
			require.Equal(t, []string{"SET", "INCRBY", "SET", "INCRBY"}, seen, refusal)
		})
	}
}

// TestExpiryOfADoubtfulCommand: a SET may have run, and its repeat is refused for good. The EXPIRE
// behind it, which was refused for now, is still sent: otherwise the key would live for ever.
func TestExpiryOfADoubtfulCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLostReply("SET", "-MOVED 1 127.0.0.1:7009\r\n") // for another slot
		inner, refused := l.answer, false
		l.answer = func(addr string, cmd []string) string {
			if cmd[0] == "EXPIRE" && !refused {
				refused = true
				return "-TRYAGAIN later\r\n"
			}
			return inner(addr, cmd)
		}
		client := l.open(t, cluster.Config{RefreshEvery: -1})
		p := pipeline.Config{Idempotent: true}.New(client)
		set := p.Cmd("SET", "k", "v")
		expiry := p.Cmd("EXPIRE", "k", "60")
		require.Error(t, p.Do(soon(t, 5*time.Second)))
		requireUnknown(t, set.Err(), "-MOVED ")
		require.NoError(t, expiry.Err())
	})
}

// TestExpiryThatRanEarly: an EXPIRE ran, the command before it was refused and goes again, and
// then both are refused. It is not true that the EXPIRE was not executed.
func TestExpiryThatRanEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		w := newWorld(func(_ string, cmd []string) string {
			if cmd[0] == "INCRBY" {
				tries++
			}
			switch {
			case tries > 1 && strings.HasSuffix(cmd[1], "k"):
				return "-LOADING Redis is loading\r\n"
			case cmd[0] == "INCRBY":
				return "-TRYAGAIN later\r\n"
			}
			return one
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		p := pipeline.New(client)
		count := p.IncrBy("k", 1)
		expiry := p.Expire("k", time.Minute)
		require.Error(t, p.Do(soon(t, 5*time.Second)))
		require.ErrorIs(t, count.Err(), redislanes.ErrRefused)
		require.NotErrorIs(t, count.Err(), redislanes.ErrUnknownOutcome)
		requireUnknown(t, expiry.Err(), "-LOADING ")
	})
}

// TestRepeatedExpiryIsInDoubt: the reply of an EXPIRE is lost. The client sends it again with its
// SET, and the server refuses both. The EXPIRE may have run the first time.
func TestRepeatedExpiryIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := false
		var w *world
		w = newWorld(func(addr string, _ []string) string {
			if ran {
				return "-LOADING Redis is loading the dataset in memory\r\n"
			}
			ran = true
			w.set(func() { w.dead[addr] = true })
			w.set(func() { delete(w.dead, addr) })
			return one // which nobody reads
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		p := pipeline.New(client)
		set := p.Cmd("SET", "k", "1").Idempotent()
		expire := p.Cmd("EXPIRE", "k", "60")
		require.Error(t, p.Do(soon(t, 5*time.Second)))
		require.ErrorIs(t, set.Err(), redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, expire.Err(), redislanes.ErrUnknownOutcome)
	})
}
