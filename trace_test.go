package redislanes_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

type traceKey string

// noting returns a trace that notes what it is told of, under a name.
func noting(name string, told *[]string) *redislanes.Trace {
	note := func(what string) { *told = append(*told, name+what) }
	return &redislanes.Trace{
		BeginRequest: func(ctx context.Context, _ redislanes.RequestStart) context.Context {
			note("BeginRequest")
			return context.WithValue(ctx, traceKey(name), true)
		},
		EndRequest: func(context.Context, redislanes.RequestStart, redislanes.RequestInfo) { note("EndRequest") },
		BeginGroup: func(context.Context, redislanes.GroupStart) context.Context {
			note("BeginGroup")
			return nil
		},
		EndGroup:        func(context.Context, redislanes.GroupStart, redislanes.GroupInfo) { note("EndGroup") },
		PoolOpened:      func(*redislanes.PoolInfo) { note("PoolOpened") },
		PoolClosed:      func(*redislanes.PoolInfo) { note("PoolClosed") },
		Waited:          func(*redislanes.PoolInfo, time.Duration) { note("Waited") },
		Dialed:          func(*redislanes.PoolInfo, time.Duration, error) { note("Dialed") },
		ConnClosed:      func(*redislanes.PoolInfo, string, error) { note("ConnClosed") },
		TopologyChanged: func([]string, []string, int) { note("TopologyChanged") },
		Stats:           func(func() redislanes.Stats) error { note("Stats"); return errors.New(name) },
	}
}

// TestJoinTraces: every function of each trace is called, in order, and each context adds
// to the one before it.
func TestJoinTraces(t *testing.T) {
	var told []string
	a, b := noting("a", &told), noting("b", &told)
	all := redislanes.JoinTraces(nil, a, b, new(redislanes.Trace))
	ctx := all.BeginRequest(t.Context(), redislanes.RequestStart{})
	require.Equal(t, []any{true, true}, []any{ctx.Value(traceKey("a")), ctx.Value(traceKey("b"))})
	all.EndRequest(ctx, redislanes.RequestStart{}, redislanes.RequestInfo{})
	require.Equal(t, ctx, all.BeginGroup(ctx, redislanes.GroupStart{}), "nil stands for ctx")
	all.EndGroup(ctx, redislanes.GroupStart{}, redislanes.GroupInfo{})
	all.PoolOpened(nil)
	all.PoolClosed(nil)
	all.Waited(nil, 0)
	all.Dialed(nil, 0, nil)
	all.ConnClosed(nil, "", nil)
	all.TopologyChanged(nil, nil, 0)
	require.EqualError(t, all.Stats(nil), "a\nb")
	var want []string
	fields := reflect.TypeFor[redislanes.Trace]()
	for i := range fields.NumField() {
		want = append(want, "a"+fields.Field(i).Name, "b"+fields.Field(i).Name)
	}
	require.ElementsMatch(t, want, told, "a new function is joined, too")

	require.Nil(t, redislanes.JoinTraces(nil, nil))
	require.Same(t, a, redislanes.JoinTraces(nil, a))
	require.Nil(t, redislanes.JoinTraces(new(redislanes.Trace), new(redislanes.Trace)).EndRequest)
}
