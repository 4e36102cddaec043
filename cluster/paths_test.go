package cluster_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// Ways in which a command may travel, as a program sees it.
const (
	waysShared = "with the commands of others"
	waysAlone  = "over a connection of its own"
	waysHeld   = "refused: it changes its connection"
	waysAwaits = "refused: it waits for the writes of its connection"
)

// A pathTest sends commands by every path to a server that answers all of them.
type pathTest struct {
	t         *testing.T
	client    *cluster.Client
	node      radix.Client
	pool      *pool.Pool
	command   atomic.Value // the name of the command that is being sent
	dedicated atomic.Bool  // a connection was dedicated when it reached the server
}

func newPathTest(t *testing.T) *pathTest {
	p := &pathTest{t: t}
	p.command.Store("")
	f := newFake(t)
	f.answer = func(w io.Writer, cmd []string) bool {
		if strings.EqualFold(cmd[0], p.command.Load().(string)) {
			sum := stats(p.client)
			sum.add(p.pool.Stats())
			p.dedicated.Store(sum.Dedicated > 0)
		}
		_, err := io.WriteString(w, "-ERR answered\r\n")
		return err == nil
	}
	f.start()
	ctx := within(t, 10*time.Second)
	p.client = open(t, onlyShared, []string{f.addr()})
	clients, err := p.client.Clients()
	require.NoError(t, err)
	p.node = clients[f.addr()].Primary
	made, err := pool.Custom(pool.Laned{Lanes: 1, SlowLanes: 1}, lanes.Dialer{})(ctx, "tcp", f.addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = made.Close() })
	p.pool = made.(*pool.Pool)
	return p
}

// saw returns how a command has travelled that ended with the error.
func (p *pathTest) saw(err error) string {
	switch {
	case errors.Is(err, cause.ErrNoWrites):
		return waysAwaits
	case errors.Is(err, redislanes.ErrShared):
		return waysHeld
	case p.dedicated.Load():
		return waysAlone
	}
	require.NotErrorIs(p.t, err, redislanes.ErrNotSent)
	return waysShared
}

// ways returns how the command travels by each path. The commands of a pipeline never have a
// connection to themselves: what would need one is refused there.
func (p *pathTest) ways(name string, args ...string) (ways, pipelined map[string]string) {
	ctx := within(p.t, 10*time.Second)
	p.command.Store(name)
	ways, pipelined = make(map[string]string), make(map[string]string)
	by := func(path string, err error) {
		ways[path] = p.saw(err)
		p.dedicated.Store(false)
	}
	by("Do", p.client.Do(ctx, radix.Cmd(nil, name, args...)))
	by("DoSecondary", p.client.DoSecondary(ctx, radix.Cmd(nil, name, args...)))
	by("node", p.node.Do(ctx, radix.Cmd(nil, name, args...)))
	by("pool", p.pool.Do(ctx, radix.Cmd(nil, name, args...)))
	for path, do := range map[string]func(context.Context, radix.Action) error{
		"radix.Pipeline": p.client.Do, "radix.Pipeline to a node": p.node.Do, "radix.Pipeline to a pool": p.pool.Do,
	} {
		two := radixPipeline(radix.Cmd(nil, "ECHO", "first"), pipelinable.Cmd(nil, name, args...))
		by(path, do(ctx, two))
	}
	for path, add := range map[string]func(*pipeline.Pipeline) pipeline.Reply{
		"Cmd":    func(to *pipeline.Pipeline) pipeline.Reply { return to.Cmd(name, anys(args)...) },
		"Append": func(to *pipeline.Pipeline) pipeline.Reply { return to.Append(radix.Cmd(nil, name, args...)) },
	} {
		to := pipeline.New(p.client)
		r := add(to)
		_ = to.Do(ctx)
		if pipelined[path] = "refused"; !errors.Is(r.Err(), cause.ErrNotPipelinable) && !errors.Is(r.Err(), cause.ErrUnanswered) {
			pipelined[path] = p.saw(r.Err())
		}
	}
	return ways, pipelined
}

// pipelinable makes commands that a radix.Pipeline takes, and says of their connections what
// radix does.
var pipelinable = radix.CmdConfig{ActionProperties: func(cmd string, args ...string) radix.ActionProperties {
	p := radix.DefaultActionProperties(cmd, args...)
	p.CanPipeline = true
	return p
}}

// TestAllPathsAgree: how a command travels depends on the command and its arguments, and not on
// the function that it is given to.
func TestAllPathsAgree(t *testing.T) {
	t.Parallel()
	p := newPathTest(t)
	lines := [][]string{
		{"XREAD", "COUNT", "1", "STREAMS", "k", "0"}, {"XREAD", "BLOCK", "0", "STREAMS", "k", "0"}, {"xread", "STREAMS", "block", "0"},
		{"XREADGROUP", "GROUP", "g", "c", "STREAMS", "k", ">"}, {"XREADGROUP", "GROUP", "g", "c", "BLOCK", "5", "STREAMS", "k", ">"},
		{"wait", "1", "0"}, {"WAITAOF", "1", "0", "0"}, {"blpop", "k", "0"}, {"REPLCONF", "GETACK", "*"}, {"CLIENT", "NEW-IN-REDIS-9"},
	}
	for _, name := range command.Names() {
		container, sub, isSub := strings.Cut(name, "|")
		if isSub {
			lines = append(lines, []string{container, sub, "k", "k"})
		} else {
			lines = append(lines, []string{name, "k", "k", "k"})
		}
	}
	for _, line := range lines {
		name, args := line[0], line[1:]
		c := command.Of(resp.AppendCommand(nil, name, args...))
		want, refused := waysShared, waysShared
		switch way := c.Traits().Way(); {
		case c.Effect() == command.Awaits:
			want, refused = waysAwaits, waysAwaits
		case c.Effect() == command.Unwatches: // by itself it leaves its connection as it was
			want, refused = waysAlone, "refused"
		case way == command.Held:
			want, refused = waysHeld, "refused"
		case way == command.Alone:
			want, refused = waysAlone, "refused"
		}
		ways, pipelined := p.ways(name, args...)
		for path, way := range ways {
			require.Equal(t, want, way, "%s: %v", path, line)
		}
		for path, way := range pipelined {
			require.Equal(t, refused, way, "pipeline %s: %v", path, line)
		}
	}
}

// TestTheProgramsWordCounts: a program that says of a command that it cannot share a connection, or
// cannot be pipelined, is heeded. radix says so by default of commands that it takes for blocking.
func TestTheProgramsWordCounts(t *testing.T) {
	t.Parallel()
	p := newPathTest(t)
	unshared := radix.CmdConfig{ActionProperties: func(string, ...string) radix.ActionProperties { return radix.ActionProperties{} }}
	ctx := within(t, 10*time.Second)
	p.command.Store("HGETALL")
	for name, do := range map[string]func(context.Context, radix.Action) error{"Do": p.client.Do, "node": p.node.Do, "pool": p.pool.Do} {
		p.dedicated.Store(false)
		require.Equal(t, waysAlone, p.saw(do(ctx, unshared.Cmd(nil, "HGETALL", "k"))), name)
	}
	require.ErrorIs(t, pipeline.New(p.client).Append(unshared.Cmd(nil, "HGETALL", "k")).Err(), cause.ErrNotPipelinable)
}

// TestWaitAmongItsWrites: inside radix.WithConn, WAIT and WAITAOF wait for the writes that were sent
// before them, and the connection is given out again.
func TestWaitAmongItsWrites(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.start()
	client := open(t, onlyShared, []string{f.addr()})
	ctx := within(t, 10*time.Second)
	for range 5 {
		for name, do := range map[string]func(context.Context, radix.Action) error{"Do": client.Do, "node": primaryAt(t, client, f.addr()).Do} {
			var n int
			require.NoError(t, do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				for _, a := range []radix.Action{radix.Cmd(nil, "SET", "k", "v"), radix.Cmd(&n, "WAIT", "1", "100"), radix.Cmd(nil, "WAITAOF", "1", "0", "100")} {
					if err := conn.Do(ctx, a); err != nil {
						return err
					}
				}
				return nil
			})), name)
			require.Equal(t, 1, n)
		}
	}
	require.Zero(t, client.Stats().Nodes[0].Pool.Closes["unclean"])
	err := client.Do(ctx, radix.Cmd(nil, "WAIT", "1", "100"))
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.ErrorContains(t, err, "WAIT: not sent: command waits for the writes of its own connection, use radix.WithConn for it and the writes")
}
