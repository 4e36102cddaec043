package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest/sim"
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
							require.NotEqual(t, redislanes.OutcomeUnknown, l.request.Outcome)
							require.Equal(t, c.reply, string(raw))
							return
						}
						require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
						requireUnknown(t, set.Err(), c.reply)
						require.Equal(t, redislanes.OutcomeUnknown, l.request.Outcome)
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

// TestExpiryOfADoubtfulCommand: a SET may have run whose repeat is refused for good, so the EXPIRE
// behind it, which was refused for now, is still sent, or the key would live for ever.
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

// repeatable is an action on a connection of its own that may be performed twice.
type repeatable struct{ radix.Action }

func (r repeatable) Properties() radix.ActionProperties {
	return radix.ActionProperties{Keys: r.Action.Properties().Keys, CanRetry: true}
}

// TestDoubtAboutADedicatedAction: an action that may be performed twice has run a command when the server
// redirects its next one, and the next try does not come about. If it has written, to say that it was not
// sent would be a lie; if it has only read, it is the truth.
func TestDoubtAboutADedicatedAction(t *testing.T) {
	for first, lost := range map[string]bool{"INCR": true, "GET": false} {
		for _, met := range []string{"no connection", "LOADING"} {
			t.Run(first+", "+met, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					key := keyOf(0, 2)
					w := newWorld(func(addr string, cmd []string) string {
						switch {
						case addr == nodeB:
							return "-LOADING Redis is loading\r\n"
						case cmd[0] == "LPUSH":
							return fmt.Sprintf("-MOVED %d %s\r\n", cluster.Slot(key), nodeB)
						}
						return one
					}, nodeA, nodeB)
					client := w.open(t, cluster.Config{RefreshEvery: -1})
					w.set(func() { w.dead[nodeB] = met == "no connection" })
					tries := 0
					err := client.Do(soon(t, 5*time.Second), repeatable{radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
						tries++
						if err := conn.Do(ctx, radix.Cmd(nil, first, key)); err != nil {
							return err
						}
						return conn.Do(ctx, radix.Cmd(nil, "LPUSH", key, "v"))
					})})
					if met == "LOADING" {
						require.Greater(t, tries, 1)
					}
					if lost {
						requireUnknown(t, err, map[string]string{"LOADING": "-LOADING ", "no connection": ""}[met])
					} else {
						require.NotErrorIs(t, err, redislanes.ErrUnknownOutcome)
					}
				})
			})
		}
	}
}

// TestAnActionThatWroteFollowsRedirectsOnly: CanRetry says that an action may be performed again where a
// redirect points, as in radix. After any other refusal, an action that has written would write again for
// as long as the refusal lasts.
func TestAnActionThatWroteFollowsRedirectsOnly(t *testing.T) {
	for first, repeated := range map[string]bool{"INCR": false, "GET": true} {
		for _, refusal := range []string{"TRYAGAIN x", "LOADING x", "READONLY x", "NOREPLICAS x"} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(_ string, cmd []string) string {
					if cmd[0] == "LPUSH" {
						return "-" + refusal + "\r\n"
					}
					return one
				}, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				tries := 0
				err := client.Do(soon(t, 5*time.Second), repeatable{radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
					tries++
					if err := conn.Do(ctx, radix.Cmd(nil, first, "k")); err != nil {
						return err
					}
					return conn.Do(ctx, radix.Cmd(nil, "LPUSH", "k", "v"))
				})})
				require.ErrorIs(t, err, redislanes.ErrRefused)
				require.Equal(t, repeated, tries > 1, "%s, then %s: %d tries", first, refusal, tries)
			})
		}
	}
	t.Run("it may have written", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			redis := sim.Start(t, sim.Config{})
			client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(t.Context(), redis.Addrs())
			require.NoError(t, err)
			defer client.Close()
			owner := redis.Owner("k")
			tries := 0
			err = client.Do(soon(t, 5*time.Second), repeatable{radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				tries++
				owner.PauseWrites(20 * time.Millisecond)
				short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
				defer cancel()
				require.ErrorIs(t, conn.Do(short, radix.Cmd(nil, "INCR", "k")), redislanes.ErrUnknownOutcome)
				owner.Refuse("lpush", "LOADING Redis is loading the dataset in memory", 1)
				return conn.Do(ctx, radix.Cmd(nil, "LPUSH", "list{k}", "v"))
			})})
			require.ErrorIs(t, err, redislanes.ErrRefused)
			require.Equal(t, 1, tries)
		})
	})
}

// sharing is an action on the key k that shares its connection.
type sharing struct {
	perform func(context.Context, radix.Conn) error
}

func (s sharing) Perform(ctx context.Context, conn radix.Conn) error { return s.perform(ctx, conn) }
func (sharing) Properties() radix.ActionProperties {
	return radix.ActionProperties{Keys: []string{"k"}, CanRetry: true, CanPipeline: true, CanShareConn: true}
}

// TestForeignErrorsTeachNothing: a function returns the error of another client, for example of
// another cluster. It says nothing of this one.
func TestForeignErrorsTeachNothing(t *testing.T) {
	slot := cluster.Slot("k")
	moved := resp3.SimpleError{S: fmt.Sprintf("MOVED %d %s", slot, nodeC)}
	for name, foreign := range map[string]error{
		"as radix returns it":     moved,
		"as another client does":  &redislanes.Error{Command: "GET", Addr: nodeB, Tries: 3, Outcome: redislanes.ErrRefused, Cause: moved},
		"wrapped":                 fmt.Errorf("copy: %w", &redislanes.Error{Command: "GET", Addr: nodeB, Tries: 3, Cause: moved}),
		"tried who knows when":    &redislanes.Error{Command: "GET", Addr: nodeB, Cause: moved},
		"beside a lost reply":     errors.Join(&redislanes.Error{Command: "GET", Addr: nodeA, Outcome: redislanes.ErrUnknownOutcome, Cause: io.EOF}, moved),
		"a lost login of another": &redislanes.Error{Command: "GET", Addr: nodeB, Tries: 3, Cause: resp3.SimpleError{S: "NOAUTH Authentication required."}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(string, []string) string { return one }, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				sets, err := client.Clients()
				require.NoError(t, err)
				ctx := soon(t, 5*time.Second)
				for _, over := range []radix.Client{client, sets[nodeA].Primary} {
					tries := 0
					err := over.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
						tries++
						if err := conn.Do(ctx, radix.Cmd(nil, "GET", "k")); err != nil {
							return err
						}
						return foreign
					}))
					require.Equal(t, foreign, err)
					require.Equal(t, 1, tries)
				}
				require.Equal(t, foreign, client.Do(ctx, sharing{func(ctx context.Context, conn radix.Conn) error {
					_ = conn.Do(ctx, radix.Cmd(nil, "GET", "k"))
					return foreign
				}}), "an action that shares its connection")
				require.Equal(t, nodeA, client.Primary(slot))
				require.NoError(t, client.Do(ctx, radix.Cmd(nil, "GET", "k")))
				for _, n := range client.Stats().Nodes {
					require.Empty(t, n.Pool.Closes, n.Pool.Addr)
				}
			})
		})
	}
}

// TestRefusalsOnEveryPath: errors.Is finds ErrRefused in an error that says that the server did not run the
// command, whatever way the command went. So a program knows that it may send it again.
func TestRefusalsOnEveryPath(t *testing.T) {
	withConn := func(client radix.Client, ctx context.Context, cmd ...string) error {
		return client.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(nil, cmd[0], cmd[1:]...))
		}))
	}
	for name, call := range map[string]func(ctx context.Context, client *cluster.Client, node radix.Client) error{
		"Do": func(ctx context.Context, c *cluster.Client, _ radix.Client) error {
			return c.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		},
		"Cmd": func(ctx context.Context, c *cluster.Client, _ radix.Client) error {
			return c.Cmd(ctx, "INCR", "k").Err()
		},
		"WithConn": func(ctx context.Context, c *cluster.Client, _ radix.Client) error {
			return withConn(c, ctx, "INCR", "k")
		},
		"a node": func(ctx context.Context, _ *cluster.Client, n radix.Client) error {
			return n.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		},
		"a node, blocking": func(ctx context.Context, _ *cluster.Client, n radix.Client) error {
			return n.Do(ctx, radix.Cmd(nil, "BLPOP", "k", "1"))
		},
		"WithConn of a node": func(ctx context.Context, _ *cluster.Client, n radix.Client) error {
			return withConn(n, ctx, "INCR", "k")
		},
		"SSUBSCRIBE": func(ctx context.Context, c *cluster.Client, _ radix.Client) error {
			return withConn(c, ctx, "SSUBSCRIBE", "k")
		},
		"SSUBSCRIBE of a node": func(ctx context.Context, _ *cluster.Client, n radix.Client) error {
			return withConn(n, ctx, "SSUBSCRIBE", "k")
		},
	} {
		for _, text := range []string{"LOADING Redis is loading", "BUSY Redis is busy", "CLUSTERDOWN The cluster is down"} {
			t.Run(name+", "+text, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(func(string, []string) string { return "-" + text + "\r\n" }, nodeA)
					client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
					sets, err := client.Clients()
					require.NoError(t, err)
					err = call(soon(t, 5*time.Second), client, sets[nodeA].Primary)
					require.ErrorIs(t, err, redislanes.ErrRefused)
					if name != "Cmd" { // which radix does not have
						require.ErrorAs(t, err, new(resp.ErrConnUsable))
					}
					var said resp3.SimpleError
					require.ErrorAs(t, err, &said)
					require.Equal(t, text, said.S)
					var known *redislanes.Error
					require.ErrorAs(t, err, &known)
					require.Equal(t, redislanes.ErrRefused, known.Outcome)
					require.Equal(t, nodeA, known.Addr)
					require.NotEmpty(t, known.Command)
				})
			})
		}
	}
}

// TestErrorsInsideRepliesAreNoRefusals: a script has run although an element of its reply is an error, whatever
// that says.
func TestErrorsInsideRepliesAreNoRefusals(t *testing.T) {
	eval := func(into any) radix.Action { return radix.Cmd(into, "EVAL", "x", "1", "k") }
	for name, call := range map[string]func(ctx context.Context, client *cluster.Client, node radix.Client, into any) error{
		"Do": func(ctx context.Context, c *cluster.Client, _ radix.Client, into any) error {
			return c.Do(ctx, eval(into))
		},
		"WithConn": func(ctx context.Context, c *cluster.Client, _ radix.Client, into any) error {
			return c.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, eval(into)) }))
		},
		"a node": func(ctx context.Context, _ *cluster.Client, n radix.Client, into any) error {
			return n.Do(ctx, eval(into))
		},
		"WithConn of a node": func(ctx context.Context, _ *cluster.Client, n radix.Client, into any) error {
			return n.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, eval(into)) }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				w := newWorld(func(string, []string) string {
					sent++
					return "*2\r\n:1\r\n-OOM command not allowed\r\n"
				}, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1})
				sets, err := client.Clients()
				require.NoError(t, err)
				var n int
				err = call(soon(t, 5*time.Second), client, sets[nodeA].Primary, &radix.Tuple{&n, nil})
				require.Equal(t, 1, n)
				var said resp3.SimpleError
				require.ErrorAs(t, err, &said)
				require.Equal(t, "OOM command not allowed", said.S)
				require.NotErrorIs(t, err, redislanes.ErrRefused)
				require.Equal(t, 1, sent)
			})
		})
	}
}

// TestErrorBehindAValue: the receiver of a pipeline's first command takes its error for a value. The second
// one's is the call's error, with its outcome.
func TestErrorBehindAValue(t *testing.T) {
	for name, over := range map[string]func(client *cluster.Client, node radix.Client) radix.Client{
		"Do":     func(client *cluster.Client, _ radix.Client) radix.Client { return client },
		"a node": func(_ *cluster.Client, node radix.Client) radix.Client { return node },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(_ string, cmd []string) string {
					if cmd[0] == "GET" {
						return "-WRONGTYPE no string\r\n"
					}
					return "-LOADING Redis is loading\r\n"
				}, nodeA)
				client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
				sets, err := client.Clients()
				require.NoError(t, err)
				p := radix.NewPipeline()
				var raw resp3.RawMessage
				p.Append(radix.Cmd(&raw, "GET", "k"))
				p.Append(radix.Cmd(new(int), "INCR", "k"))
				err = over(client, sets[nodeA].Primary).Do(soon(t, 5*time.Second), p)
				require.Contains(t, string(raw), "WRONGTYPE")
				require.ErrorIs(t, err, redislanes.ErrRefused)
				var known *redislanes.Error
				require.ErrorAs(t, err, &known)
				require.Equal(t, "INCR", known.Command)
				require.Equal(t, nodeA, known.Addr)
			})
		})
	}
}
