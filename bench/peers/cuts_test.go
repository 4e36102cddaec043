package main

import (
	"context"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/redistest"
)

// swept sweeps over a client before an emulated server, in both directions, and cuts at
// every so many bytes.
func swept(t *testing.T, c client, step int) (sums cutTurn) {
	t.Helper()
	e := redistest.StartEmulated(t, 1)
	conn, err := radix.Dial(t.Context(), "tcp", e.Addrs()[0])
	require.NoError(t, err)
	defer conn.Close()
	value := func(ctx context.Context, key string) (n int, err error) {
		return n, conn.Do(ctx, radix.Cmd(&n, "INCRBY", key, "0"))
	}
	for _, d := range []redistest.Direction{redistest.ToServer, redistest.ToClient} {
		s := &sweep{direction: d, step: step, turn: cutTurn{Client: c.name, Callers: 1, Direction: d.String()}}
		require.NoError(t, s.run(t.Context(), c, target{addrs: e.Addrs()}))
		require.NoError(t, s.count(t.Context(), value))
		require.Equal(t, s.turn.Commands, s.turn.Done+s.turn.Failed)
		require.Positive(t, s.turn.Cuts)
		sums.Cuts += s.turn.Cuts
		sums.Failed += s.turn.Failed
		sums.Lost += s.turn.Lost
		sums.Twice += s.turn.Twice
		sums.Ran += s.turn.Ran
		sums.Unknown += s.turn.Unknown
	}
	return sums
}

// TestOursIsNeverWrongAboutACut: nothing is executed twice, what is reported as done
// was executed, and what was executed and has an error is said to be unknown.
func TestOursIsNeverWrongAboutACut(t *testing.T) {
	for _, c := range clients() {
		if c.name != oursAlone && c.name != counters {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			sums := swept(t, c, 9)
			require.Zero(t, sums.Twice)
			require.Zero(t, sums.Lost)
			require.Equal(t, sums.Ran, sums.Unknown)
			require.Positive(t, sums.Ran, "no cut came between a command and its reply")
		})
	}
}

// TestSweepFindsWhatIsWrong: a client that sends again what failed executes twice, and
// one that hides errors reports what was not executed as done.
func TestSweepFindsWhatIsWrong(t *testing.T) {
	plain := func(ctx context.Context, t target, counts []count) error {
		conn, err := radix.Dialer{NetDialer: t.dial}.Dial(ctx, "tcp", t.addrs[0])
		if err != nil {
			return err
		}
		defer conn.Close()
		p := radix.NewPipeline()
		for _, c := range counts {
			p.Append(radix.Cmd(nil, "INCRBY", c.key, "1"))
		}
		return conn.Do(ctx, p)
	}
	made := func(again bool) client {
		return client{"made", func(_ context.Context, t target) (*session, error) {
			sending := func(ctx context.Context, counts []count) error {
				err := plain(ctx, t, counts)
				for again && err != nil && ctx.Err() == nil {
					err = plain(ctx, t, counts)
				}
				return nil // nor has any count an error
			}
			return &session{counting: func(time.Duration) counting { return sending }, close: func() {}}, nil
		}}
	}
	require.Positive(t, swept(t, made(true), 3).Twice)
	require.Positive(t, swept(t, made(false), 3).Lost)
}
