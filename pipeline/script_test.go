package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

var add = pipeline.NewScript(`return redis.call("INCRBY", KEYS[1], ARGV[1])`)

// calls returns how often the nodes were sent the command.
func calls(e *redistest.Emulated, cmd string) (n int) {
	for i := range e.Nodes() {
		n += e.Calls(i, cmd)
	}
	return n
}

// TestScript: a server that does not know the script is sent its text, and the hash
// from then on.
func TestScript(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := servers.Within(t, 10*time.Second)
	p := pipeline.New(client)
	keys := redistest.KeysInSlots(9, "script")
	run := func(want int64) {
		t.Helper()
		p.Reset()
		totals := make([]pipeline.Reply, len(keys))
		for i, key := range keys {
			totals[i] = p.Eval(add, []string{key}, "2")
		}
		require.NoError(t, p.Do(ctx))
		for _, total := range totals {
			requireInt(t, want, total)
		}
	}
	run(2)
	require.Equal(t, len(keys), calls(e, "EVALSHA"))
	require.Equal(t, len(keys), calls(e, "EVAL"))
	run(4)
	require.Equal(t, 2*len(keys), calls(e, "EVALSHA"))
	require.Equal(t, len(keys), calls(e, "EVAL"), "the servers know it")
}

// TestScriptKeepsItsOrder: before another command of its slot, a script goes with
// its text, since it could not go again behind that.
func TestScriptKeepsItsOrder(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	p := pipeline.New(client)
	first := p.Eval(add, []string{"key"}, "1")
	p.Expire("key", time.Minute)
	second := p.Eval(add, []string{"key"}, "10")
	last := p.Eval(add, []string{"other"}, "5")
	require.NoError(t, p.Do(servers.Within(t, 10*time.Second)))
	for want, r := range map[int64]pipeline.Reply{1: first, 11: second, 5: last} {
		requireInt(t, want, r)
	}
	require.Equal(t, 1, calls(e, "EXPIRE"))
}

// TestScriptOnRealServers: unknown, known, forgotten, moved to another node, and
// with errors of its own.
func TestScriptOnRealServers(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	ctx := servers.Within(t, 30*time.Second)
	client := open(t, cluster.Config{}, real.Addrs())
	p := pipeline.New(client)
	const key = "moves"
	want := int64(0)
	one := func() {
		t.Helper()
		p.Reset()
		total, other := p.Eval(add, []string{key}, "1").Fast(), p.Eval(add, []string{"stays"}, "1")
		require.NoError(t, p.Do(ctx))
		want++
		for _, r := range []pipeline.Reply{total, other} {
			requireInt(t, want, r)
		}
	}
	one()
	one()
	for _, n := range real.Nodes() {
		require.NoError(t, n.Do(ctx, nil, "SCRIPT", "FLUSH"))
	}
	one()
	for _, n := range real.Nodes() {
		require.NoError(t, real.Reshard(ctx, []uint16{cluster.Slot(key)}, n)) // which may not know it
		one()
	}

	p.Reset()
	broken := p.Eval(pipeline.NewScript(`return redis.error_reply("MYCODE of my own")`), nil)
	syntax := p.Eval(pipeline.NewScript(`return return`), []string{key})
	inner := p.Eval(pipeline.NewScript(`return redis.call("EVALSHA", "`+strings.Repeat("0", 40)+`", 0)`), []string{key})
	require.Error(t, p.Do(ctx))
	require.ErrorContains(t, broken.Err(), "MYCODE")
	require.Error(t, syntax.Err())
	require.Error(t, inner.Err())
}

func TestScriptRefused(t *testing.T) {
	t.Parallel()
	client := open(t, cluster.Config{}, redistest.StartEmulated(t, 3).Addrs())
	ctx := servers.Within(t, 10*time.Second)
	for want, eval := range map[string]func(p *pipeline.Pipeline) pipeline.Reply{
		"NewScript": func(p *pipeline.Pipeline) pipeline.Reply { return p.Eval(nil, []string{"key"}) },
		"slot":      func(p *pipeline.Pipeline) pipeline.Reply { return p.Eval(add, []string{"a", "b"}) },
	} {
		p := pipeline.New(client)
		r := eval(p)
		require.ErrorIs(t, p.Do(ctx), redislanes.ErrNotSent)
		require.ErrorContains(t, r.Err(), want)
	}
	var p pipeline.Pipeline
	require.ErrorContains(t, p.Eval(add, nil).Err(), "client")
}
