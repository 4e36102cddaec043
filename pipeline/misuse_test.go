package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestPipelineWithoutClient: one that was made by hand, or with the nil client of
// a failed New, says so wherever it can.
func TestPipelineWithoutClient(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*pipeline.Pipeline{"zero": {}, "nil client": pipeline.New(nil), "not made": pipeline.New(new(cluster.Client))} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []pipeline.Reply{p.Cmd("GET", "k"), p.Cmd("MGET", "a", "b"), p.Append(radix.Cmd(nil, "GET", "k")), p.Append(nil)} {
				require.ErrorContains(t, r.Err(), "without a client")
				require.ErrorIs(t, r.Err(), redislanes.ErrNotSent)
			}
			p.Reset()
			r := p.IncrBy("k", 1)
			for range 2 {
				require.ErrorContains(t, p.Do(t.Context()), "without a client")
				require.ErrorContains(t, r.Err(), "without a client")
				require.ErrorIs(t, r.Err(), redislanes.ErrNotSent)
			}
			_ = fmt.Sprint(p)
			require.Zero(t, p.Trips())
		})
	}
	hits := []pipeline.Hit{{Key: "k", By: 1, Total: 7}}
	for name, c := range map[string]*pipeline.Counters{"zero": {}, "nil client": pipeline.CountersConfig{}.New(nil), "not made": pipeline.CountersConfig{}.New(new(cluster.Client))} {
		t.Run("counters/"+name, func(t *testing.T) {
			require.ErrorContains(t, c.Hit(t.Context(), nil), "without a client")
			require.ErrorContains(t, c.Hit(t.Context(), hits), "without a client")
			require.ErrorIs(t, hits[0].Err, redislanes.ErrNotSent)
			require.Zero(t, hits[0].Total)
			require.NoError(t, c.Close())
		})
	}
}

// TestNil: a nil action or context is an error with a sentence, and nothing is
// sent.
func TestNil(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, e.Addrs())
	p := pipeline.New(client)
	good := p.IncrBy("k", 1)
	require.ErrorContains(t, p.Do(nil), "the context is nil") //nolint:staticcheck // that is the mistake
	require.ErrorIs(t, good.Err(), cause.ErrPending, "it can still be done")
	require.NoError(t, p.Do(within(t, 5*time.Second)))
	requireInt(t, 1, good)

	p.Reset()
	good, bad := p.IncrBy("k", 1), p.Append(nil)
	require.ErrorContains(t, p.Do(within(t, 5*time.Second)), "the action is nil")
	require.ErrorContains(t, bad.Err(), "the action is nil")
	require.ErrorIs(t, good.Err(), redislanes.ErrNotSent)

	c := pipeline.CountersConfig{}.New(client)
	hits := []pipeline.Hit{{Key: "k", By: 1}}
	require.ErrorContains(t, c.Hit(nil, hits), "the context is nil") //nolint:staticcheck // that is the mistake
	require.ErrorIs(t, hits[0].Err, redislanes.ErrNotSent)
	require.Equal(t, 1, e.Calls(0, "INCRBY"))
	require.NoError(t, c.Close())
}

// A twoTrips action makes two exchanges, of which a pipeline can make none.
type twoTrips struct{}

func (twoTrips) Properties() radix.ActionProperties {
	return radix.ActionProperties{CanPipeline: true, CanShareConn: true}
}

func (twoTrips) Perform(ctx context.Context, conn radix.Conn) error {
	if err := conn.Do(ctx, radix.Cmd(nil, "GET", "k")); err != nil {
		return err
	}
	return conn.Do(ctx, radix.Cmd(nil, "GET", "k"))
}

// A broken action fails before it has a command.
type broken struct{ twoTrips }

var errBroken = errors.New("no idea what to send")

func (broken) Perform(context.Context, radix.Conn) error { return errBroken }

// TestTimeToLiveWithoutUnit: 60 is 60 nanoseconds, which nobody means. Nothing is sent.
func TestTimeToLiveWithoutUnit(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client := open(t, cluster.Config{}, e.Addrs())
	p := pipeline.New(client)
	for _, r := range []pipeline.Reply{p.Count("k", 1, 60), p.Expire("k", 60), p.ExpireNX("k", 999)} {
		require.ErrorContains(t, r.Err(), "a number without a unit counts nanoseconds")
		require.ErrorIs(t, r.Err(), redislanes.ErrNotSent)
	}
	c := pipeline.CountersConfig{}.New(client)
	hits := []pipeline.Hit{{Key: "k", TTL: 60}, {Key: "k", TTL: time.Microsecond}}
	require.ErrorContains(t, c.Hit(within(t, 5*time.Second), hits), "1 of 2")
	require.ErrorContains(t, hits[0].Err, "a number without a unit counts nanoseconds")
	require.ErrorIs(t, hits[0].Err, redislanes.ErrNotSent)
	require.EqualValues(t, 1, hits[1].Total)
	require.NoError(t, c.Close())
}
