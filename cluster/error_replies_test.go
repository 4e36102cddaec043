package cluster_test

import (
	"context"
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
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// errorReplies adds up those of all nodes.
func errorReplies(client *cluster.Client) map[string]uint64 {
	all := make(map[string]uint64)
	for _, n := range client.Stats().Nodes {
		for code, count := range n.Pool.ErrorReplies {
			all[code] += count
		}
	}
	return all
}

// TestErrorRepliesAreCounted: whichever way a command takes, its error reply counts
// once for each time that the server sent it, under the node that did.
func TestErrorRepliesAreCounted(t *testing.T) {
	t.Parallel()
	for name, config := range poolKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.StartEmulated(t, 3)
			client := open(t, cluster.Config{Pool: config, RefreshEvery: -1, RetryWindow: -1}, redis.Addrs())
			ctx := within(t, 20*time.Second)
			key := "k"
			owner := redis.Owner(cluster.Slot(key))
			p := pipeline.New(client)
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", key, "1")))
			require.Empty(t, errorReplies(client))

			redis.Inject(owner, func(cmd string, _ []string) string {
				switch cmd {
				case "SET":
					return "OOM command not allowed when used memory > 'maxmemory'."
				case "INCRBY":
					return "CLUSTERDOWN The cluster is down"
				case "GET":
					return "canary made up by a script"
				}
				return ""
			})
			require.Error(t, client.Do(ctx, radix.Cmd(nil, "SET", key, "1")))
			require.Error(t, client.Do(ctx, dedicatedCmd(key, "SET", key, "1")))
			require.Error(t, client.Do(ctx, radix.Cmd(nil, "GET", key)))
			replies := []pipeline.Reply{p.IncrBy(key, 1), p.IncrBy(key, 1)}
			_ = p.Do(ctx)
			for _, r := range replies {
				require.Error(t, r.Err())
			}
			require.Error(t, primaryAt(t, client, redis.Addrs()[owner]).Do(ctx, radix.Cmd(nil, "SET", key, "1")))
			require.Equal(t, map[string]uint64{"OOM": 3, "CLUSTERDOWN": 2, "other": 1}, errorReplies(client))
			for _, n := range client.Stats().Nodes {
				require.Equal(t, n.Pool.Addr == redis.Addrs()[owner], len(n.Pool.ErrorReplies) > 0, n.Pool.Addr)
			}
		})
	}
}

// A failures trace counts the commands that it is told have failed, in requests and in groups.
type failures struct {
	mu               sync.Mutex
	requests, groups int
	outcomes         map[string]int
	codes            map[string]int
}

func (f *failures) trace() *redislanes.Trace {
	return &redislanes.Trace{
		EndRequest: func(_ context.Context, _ redislanes.RequestStart, r redislanes.RequestInfo) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.requests += r.Failed
			f.outcomes[r.Outcome]++
			f.codes[r.Code]++
		},
		EndGroup: func(_ context.Context, _ redislanes.GroupStart, g redislanes.GroupInfo) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if g.Outcome != "ok" {
				f.groups++
			}
		},
	}
}

// TestUnknownScriptIsNoFailure: EVALSHA of a script that the server does not know is the first half
// of running it, on every path. Only for a program that sends EVALSHA itself it is an error. The
// statistics of the pool count the reply by its code.
func TestUnknownScriptIsNoFailure(t *testing.T) {
	const source = "return redis.call('INCRBY', KEYS[1], ARGV[1])"
	type doer = func(context.Context, radix.Action) error
	evaluate := func(do doer) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			var n int
			return do(ctx, radix.NewEvalScript(source).Cmd(&n, []string{"k"}, "2"))
		}
	}
	for name, run := range map[string]func(c *cluster.Client, node radix.Client) func(context.Context) error{
		"Do":          func(c *cluster.Client, _ radix.Client) func(context.Context) error { return evaluate(c.Do) },
		"DoSecondary": func(c *cluster.Client, _ radix.Client) func(context.Context) error { return evaluate(c.DoSecondary) },
		"node":        func(_ *cluster.Client, node radix.Client) func(context.Context) error { return evaluate(node.Do) },
		"WithConn": func(c *cluster.Client, _ radix.Client) func(context.Context) error {
			return func(ctx context.Context) error {
				return c.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error { return evaluate(conn.Do)(ctx) }))
			}
		},
		"Eval": func(c *cluster.Client, _ radix.Client) func(context.Context) error {
			return func(ctx context.Context) error {
				p := pipeline.New(c)
				p.Eval(pipeline.NewScript(source), []string{"k"}, "2")
				return p.Do(ctx)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 1)
			seen := &failures{outcomes: make(map[string]int), codes: make(map[string]int)}
			client := open(t, cluster.Config{Trace: seen.trace()}, e.Addrs())
			ctx := within(t, 10*time.Second)
			require.NoError(t, run(client, primaryAt(t, client, e.Addrs()[0]))(ctx))
			require.Zero(t, seen.requests)
			require.Zero(t, seen.groups)
			require.Len(t, seen.outcomes, 1, "%v", seen.outcomes)
			require.NotZero(t, seen.outcomes["ok"])
			require.EqualValues(t, 1, client.Stats().Nodes[0].Pool.ErrorReplies["NOSCRIPT"])

			require.Error(t, client.Do(ctx, radix.Cmd(nil, "EVALSHA", "no-such-script", "1", "k")))
			require.Equal(t, 1, seen.requests)
			require.Equal(t, 1, seen.groups)
			require.Equal(t, 1, seen.outcomes["error"])
			require.Equal(t, 1, seen.codes["NOSCRIPT"])
		})
	}
}

// TestRefusalsOnEveryPath: errors.Is finds ErrRefused in an error that says that the server did not run the
// command, whatever way the command went. So a program knows that it may send it again.
func TestRefusalsOnEveryPath(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, client *cluster.Client, node radix.Client) error{
		"Do": func(ctx context.Context, c *cluster.Client, _ radix.Client) error {
			return c.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		},
		"Cmd": func(ctx context.Context, c *cluster.Client, _ radix.Client) error {
			return c.Cmd(ctx, "INCR", "k").Err()
		},
		"WithConn": func(ctx context.Context, c *cluster.Client, _ radix.Client) error {
			return c.Do(ctx, dedicatedCmd("k", "INCR", "k"))
		},
		"a node": func(ctx context.Context, _ *cluster.Client, n radix.Client) error {
			return n.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		},
		"a node, blocking": func(ctx context.Context, _ *cluster.Client, n radix.Client) error {
			return n.Do(ctx, radix.Cmd(nil, "BLPOP", "k", "1"))
		},
		"WithConn of a node": func(ctx context.Context, _ *cluster.Client, n radix.Client) error {
			return n.Do(ctx, dedicatedCmd("k", "INCR", "k"))
		},
	} {
		for _, text := range []string{"LOADING Redis is loading", "BUSY Redis is busy", "CLUSTERDOWN The cluster is down"} {
			t.Run(name+", "+text, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(func(string, []string) string { return "-" + text + "\r\n" }, nodeA)
					client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1})
					err := call(soon(t, 5*time.Second), client, primaryAt(t, client, nodeA))
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
				var n int
				err := call(soon(t, 5*time.Second), client, primaryAt(t, client, nodeA), &radix.Tuple{&n, nil})
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
