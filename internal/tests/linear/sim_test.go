package linear

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest/sim"
)

// TestJudges: package redistest/sim finds the program that sends a command again when it does not know whether the first
// one ran: by what porcupine says of its totals, and by its lists. It does not accuse the program that does not.
func TestJudges(t *testing.T) {
	var history, lists error
	for seed := range uint64(30) {
		noHistory, noLists := world(t, seed, false)
		require.NoError(t, errors.Join(noHistory, noLists), "seed %d", seed)
		if history == nil || lists == nil {
			ofTotals, ofLists := world(t, seed, true)
			history, lists = cmp.Or(history, ofTotals), cmp.Or(lists, ofLists)
		}
	}
	const call = `: call \d+ took \S+, ok=\w+\n  (meanwhile|before it): {At: `
	require.Regexp(t, `^sim: user:\d+: no order of the calls explains the reply \[\d+\] to \[1\]`+call, history)
	require.Regexp(t, `^sim: queue:\d: 2 pushes of "\d\.\d+" were counted in 1 calls`+call, lists)
}

// world lets four callers count and push for three seconds of faults. Few calls count at a key: each unknown outcome
// there doubles what porcupine has to try.
func world(t *testing.T, seed uint64, resend bool) (history, lists error) {
	synctest.Test(t, func(t *testing.T) {
		redis := sim.Start(t, sim.Config{Seed: seed})
		client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(t.Context(), redis.Addrs())
		require.NoError(t, err)
		defer client.Close()
		send := func(name, key string, arg any) (int64, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			n, err := client.Cmd(ctx, name, key, arg).Int()
			if resend && errors.Is(err, redislanes.ErrUnknownOutcome) {
				n, err = client.Cmd(ctx, name, key, arg).Int()
			}
			return n, err
		}
		hits, pushes := sim.NewCalls(redis), sim.NewCalls(redis)
		var callers sync.WaitGroup
		over := time.Now().Add(3 * time.Second)
		for caller := range 4 {
			callers.Go(func() {
				for n := 0; time.Now().Before(over); n++ {
					hit := hits.Begin(fmt.Sprint("user:", n/5), int64(1)) // a new key after some calls
					total, err := send("INCRBY", hit.Key, 1)
					hit.End(err == nil, total)

					push := pushes.Begin(fmt.Sprint("queue:", n%8), fmt.Sprint(caller, ".", n)) // an id of its own
					_, err = send("RPUSH", push.Key, fmt.Sprint(caller, ".", n))
					push.End(err == nil)
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
		redis.Trouble(3 * time.Second)
		callers.Wait()
		history, lists = hits.History(linearizable), pushes.Lists()
		require.Equal(t, history, hits.History(func(history []*sim.Call) bool {
			ops := operations(history)
			return porcupine.CheckOperations(counterModel(ops), ops)
		}), "the model of TestLinearizable")
	})
	return history, lists
}

var counter = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		total := state.(int64) + input.([]any)[0].(int64)
		told := output.([]any) // nothing, if the outcome is unknown
		return len(told) == 0 || told[0] == total, total
	},
}

func linearizable(history []*sim.Call) bool {
	return porcupine.CheckOperations(counter, operations(history))
}

func operations(history []*sim.Call) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(history))
	for i, call := range history {
		op := &ops[i]
		op.ClientId, op.Input, op.Call, op.Output, op.Return = call.Operation()
	}
	return ops
}
