package cluster_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// A failures trace counts the commands that it is told have failed, in requests and in groups.
type failures struct {
	mu               sync.Mutex
	requests, groups int
	outcomes         map[redislanes.Outcome]int
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
			f.groups += g.Failed
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
			seen := &failures{outcomes: make(map[redislanes.Outcome]int), codes: make(map[string]int)}
			client := open(t, cluster.Config{Trace: seen.trace()}, e.Addrs())
			ctx := within(t, 10*time.Second)
			clients, err := client.Clients()
			require.NoError(t, err)
			require.NoError(t, run(client, clients[e.Addrs()[0]].Primary)(ctx))
			require.Zero(t, seen.requests)
			require.Zero(t, seen.groups)
			require.Len(t, seen.outcomes, 1, "%v", seen.outcomes)
			require.NotZero(t, seen.outcomes[redislanes.OutcomeOK])
			require.EqualValues(t, 1, client.Stats().Nodes[0].Pool.ErrorReplies["NOSCRIPT"])

			require.Error(t, client.Do(ctx, radix.Cmd(nil, "EVALSHA", "no-such-script", "1", "k")))
			require.Equal(t, 1, seen.requests)
			require.Equal(t, 1, seen.groups)
			require.Equal(t, 1, seen.outcomes[redislanes.OutcomeFailed])
			require.Equal(t, 1, seen.codes["NOSCRIPT"])
		})
	}
}
