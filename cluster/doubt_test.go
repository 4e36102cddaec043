package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/pipeline"
)

// A lostReply is a world of one node that runs the first command of a name and then cuts all
// connections, so that its reply is lost.
type lostReply struct {
	*world
	mu      sync.Mutex
	seen    []string // the commands of the name
	request redislanes.RequestInfo
}

// newLostReply returns one that answers the command from the second time on with the reply; ""
// takes no more connections instead.
func newLostReply(name, reply string) *lostReply {
	l := new(lostReply)
	l.world = newWorld(func(addr string, cmd []string) string {
		if cmd[0] != name {
			return one
		}
		l.mu.Lock()
		l.seen = append(l.seen, strings.Join(cmd, " "))
		first := len(l.seen) == 1
		l.mu.Unlock()
		if !first {
			return reply
		}
		l.set(func() { l.dead[addr] = true })
		if reply != "" {
			l.set(func() { delete(l.dead, addr) })
		}
		return one // which nobody reads
	}, nodeA)
	return l
}

func (l *lostReply) trace() *redislanes.Trace {
	return &redislanes.Trace{EndRequest: func(_ context.Context, s redislanes.RequestStart, r redislanes.RequestInfo) {
		if !s.Dedicated {
			l.request = r
		}
	}}
}

// repeats are what a command meets that is sent again because its first outcome is unknown.
var repeats = []struct {
	reply string
	ends  bool // it is the command's outcome
}{
	{"", false}, // no connection
	{"-LOADING Redis is loading the dataset in memory\r\n", false},
	{"-CLUSTERDOWN The cluster is down\r\n", false},
	{"-CLUSTERDOWN Hash slot not served\r\n", false},
	{"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n", false},
	{"-READONLY You can't write against a read only replica.\r\n", false},
	{"-TRYAGAIN Multiple keys request during rehashing of slot\r\n", false},
	{"-MOVED 1 127.0.0.1:7009\r\n", false}, // for another slot
	{"-MOVED nonsense\r\n", false},
	{"-OOM command not allowed when used memory > 'maxmemory'.\r\n", false},
	{"-BUSY Redis is busy running a script.\r\n", false},
	{"-MISCONF Redis is configured to save RDB snapshots\r\n", false},
	{"-NOAUTH Authentication required.\r\n", false},
	{"-NOPERM User limited has no permissions to run the command\r\n", false},
	{"-ERR max number of clients reached\r\n", false},
	{"-ERR upstream failure\r\n", false}, // a proxy
	{"-SOMETHING that nobody knows\r\n", false},
	{one, true},
	{"$-1\r\n", true},
	{"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", true},
	{"-ERR syntax error\r\n", true},
	{"-ERR value is not an integer or out of range\r\n", true},
}

// TestOnlyAReplyEndsADoubt: a write that may run twice runs, its reply is lost, and the repeat
// fails. The command's outcome is unknown, whatever the repeat met: it is neither not sent nor
// refused. The trace is told the same.
func TestOnlyAReplyEndsADoubt(t *testing.T) {
	for _, c := range repeats {
		t.Run(strings.Trim(c.reply, "-\r\n"), func(t *testing.T) {
			for name, config := range map[string]pipeline.Config{
				"": {Idempotent: true}, "sequential": {Idempotent: true, Sequential: true},
			} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						l := newLostReply("SET", c.reply)
						client := l.open(t, cluster.Config{RefreshEvery: -1, Trace: l.trace()})
						p := config.New(client)
						raw := resp3.RawMessage("untouched")
						set := p.Append(radix.Cmd(&raw, "SET", "k", "canary"))
						err := p.Do(soon(t, 5*time.Second))
						require.GreaterOrEqual(t, len(l.seen), 1)
						require.NotZero(t, client.Stats().Repeated)
						if c.ends {
							require.NotErrorIs(t, set.Err(), redislanes.ErrUnknownOutcome)
							require.NotEqual(t, "unknown", l.request.Outcome)
							require.Equal(t, c.reply, string(raw))
							return
						}
						require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
						requireUnknown(t, set.Err(), c.reply)
						require.Equal(t, "unknown", l.request.Outcome)
						require.Equal(t, 1, l.request.Failed)
						require.ErrorIs(t, l.request.Err, redislanes.ErrUnknownOutcome)
						require.Equal(t, "untouched", string(raw), "the repeat's error is not the command's reply")
						require.Empty(t, set.Node())
					})
				})
			}
		})
	}
}

// requireUnknown requires that the error says both why the outcome is unknown and what the repeat
// met, and that a program finds only the first.
func requireUnknown(t *testing.T, err error, reply string) {
	t.Helper()
	require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
	for _, other := range []error{redislanes.ErrNotSent, redislanes.ErrRefused, redislanes.ErrDown} {
		require.NotErrorIs(t, err, other)
	}
	var said resp3.SimpleError
	require.False(t, errors.As(err, &said), "the server's reply to the repeat")
	require.ErrorContains(t, err, "outcome unknown: ")
	met := "not sent"
	if reply != "" {
		met, _, _ = strings.Cut(reply[1:], " ")
	}
	require.Regexp(t, "; sent again, the repeat: .*"+met, err.Error())
	require.NotContains(t, err.Error(), "canary")
}

// TestReadsLeaveNoDoubt: what became of the last try of a command that only reads is its outcome.
func TestReadsLeaveNoDoubt(t *testing.T) {
	for reply, want := range map[string]error{
		"": redislanes.ErrNotSent, "-LOADING Redis is loading the dataset in memory\r\n": redislanes.ErrRefused,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLostReply("GET", reply)
			client := l.open(t, cluster.Config{RefreshEvery: -1})
			err := client.Do(soon(t, 5*time.Second), radix.Cmd(nil, "GET", "k"))
			require.ErrorIs(t, err, want)
			require.NotErrorIs(t, err, redislanes.ErrUnknownOutcome)
		})
	}
}

// TestDoubtAtTheEndOfTheContext: the context ends while the repeat cannot be sent. Both are found.
func TestDoubtAtTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLostReply("SET", "")
		client := l.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: time.Hour})
		p := pipeline.New(client)
		set := p.Cmd("SET", "k", "v").Idempotent()
		require.Error(t, p.Do(soon(t, 300*time.Millisecond)))
		require.ErrorIs(t, set.Err(), redislanes.ErrUnknownOutcome)
		require.NotErrorIs(t, set.Err(), redislanes.ErrNotSent)
	})
}

// TestDoubtfulCommandsKeepTheirOrder: three writes are sent, their replies are lost, and of the repeats
// the first two are sent elsewhere by ASK while the third runs. The second one shares a key with the
// third, so it stands; since it may have run, the first one, which shares another key with it, must
// not run behind it either.
func TestDoubtfulCommandsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		var elsewhere []string
		cut := false
		ask := fmt.Sprintf("-ASK %d %s\r\n", cluster.Slot("{t}"), nodeB)
		w = newWorld(func(addr string, cmd []string) string {
			switch {
			case addr == nodeB:
				elsewhere = append(elsewhere, cmd[0])
			case cmd[len(cmd)-1] == "first" && !cut: // which has all three
				cut = true
				w.set(func() { w.dead[addr] = true })
				w.set(func() { delete(w.dead, addr) })
			case cut && (cmd[len(cmd)-1] == "first" || cmd[len(cmd)-1] == "second"):
				return ask
			}
			return one
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		p := pipeline.Config{Idempotent: true}.New(client)
		first := p.Cmd("SET", "{t}2", "first")
		second := p.Cmd("MSET", "{t}1", "second", "{t}2", "second")
		third := p.Cmd("SET", "{t}1", "third")
		require.Error(t, p.Do(soon(t, 5*time.Second)))
		require.NoError(t, third.Err())
		for _, r := range []pipeline.Reply{second, first} {
			requireUnknown(t, r.Err(), "-ASK ")
			require.ErrorIs(t, r.Err(), cause.ErrOvertaken)
		}
		require.NotContains(t, elsewhere, "SET")
	})
}

// TestAFunctionIsCalledOnce: whatever becomes of its commands, the function decides whether to try again.
func TestAFunctionIsCalledOnce(t *testing.T) {
	for _, refusal := range []string{"MOVED 7629 " + nodeB, "ASK 7629 " + nodeB, "TRYAGAIN x", "LOADING x", "READONLY x", "NOREPLICAS x"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(func(string, []string) string { return "-" + refusal + "\r\n" }, nodeA)
			client := w.open(t, cluster.Config{RefreshEvery: -1})
			calls := 0
			err := client.Do(soon(t, 5*time.Second), radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				calls++
				return conn.Do(ctx, radix.Cmd(nil, "LPUSH", "k", "v"))
			}))
			require.ErrorIs(t, err, redislanes.ErrRefused, refusal)
			require.Equal(t, 1, calls, refusal)
		})
	}
}
