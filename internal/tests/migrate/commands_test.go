package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// transactionInPipeline performs MULTI to EXEC inside a radix.Pipeline.
func transactionInPipeline(p *program) {
	var replies []int
	var raw []any
	var before, after int
	transaction := func(what string, actions ...radix.Action) {
		pipe := radix.NewPipeline()
		for _, a := range actions {
			pipe.Append(a)
		}
		p.saw(what, told(p.client.Do(p.ctx, pipe)), replies, raw, before, after)
	}
	transaction("EXEC", radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCRBY", "{k}a", "1"), radix.Cmd(nil, "EXPIRE", "{k}a", "60"), radix.Cmd(&replies, "EXEC"))
	transaction("with others", radix.Cmd(&before, "INCRBY", "{k}b", "1"), radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCR", "{k}a"),
		radix.Cmd(&replies, "EXEC"), radix.Cmd(&after, "INCRBY", "{k}a", "1"))
	transaction("DISCARD", radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCR", "{k}a"), radix.Cmd(nil, "DISCARD"), radix.Cmd(&after, "INCRBY", "{k}a", "0"))
	transaction("two", radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCR", "{k}a"), radix.Cmd(&replies, "EXEC"),
		radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCR", "{k}a"), radix.Cmd(&replies, "EXEC"))
	transaction("WATCH", radix.Cmd(nil, "WATCH", "{k}a"), radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCR", "{k}a"), radix.Cmd(&replies, "EXEC"))
	transaction("a command that is refused", radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCR"), radix.Cmd(nil, "INCR", "{k}a"), radix.Cmd(nil, "EXEC"))
	transaction("a command that fails", radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "LPUSH", "{k}a", "x"), radix.Cmd(nil, "INCR", "{k}a"), radix.Cmd(&raw, "EXEC"))
	transaction("keys in two slots", radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCR", "a"), radix.Cmd(nil, "INCR", "b"), radix.Cmd(nil, "EXEC"))
	p.saw("the effect", told(p.client.Do(p.ctx, radix.Cmd(&after, "INCRBY", "{k}a", "0"))), after)

	if p.ours { // over radix, the callers that share the connection would get QUEUED
		open := radix.NewPipeline()
		open.Append(radix.Cmd(nil, "MULTI"))
		open.Append(radix.Cmd(nil, "INCR", "{k}a"))
		require.ErrorIs(p, p.client.Do(p.ctx, open), redislanes.ErrShared)
	}
}

// withConn uses one connection for several commands.
func withConn(p *program) {
	var id, again int
	var replies []int
	err := p.client.Do(p.ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
		require.NoError(p, conn.Do(ctx, radix.Cmd(&id, "CLIENT", "ID")))
		for _, a := range []radix.Action{radix.Cmd(nil, "WATCH", "k"), radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCR", "k"), radix.Cmd(&replies, "EXEC")} {
			if err := conn.Do(ctx, a); err != nil {
				return err
			}
		}
		return conn.Do(ctx, radix.Cmd(&again, "CLIENT", "ID"))
	}))
	p.saw("MULTI", told(err), replies, id == again)

	lost := radix.Maybe{Rcv: &replies}
	err = p.client.Do(p.ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
		require.NoError(p, conn.Do(ctx, radix.Cmd(nil, "WATCH", "k")))
		p.do(radix.Cmd(nil, "INCR", "k"))
		pipe := radix.NewPipeline()
		pipe.Append(radix.Cmd(nil, "MULTI"))
		pipe.Append(radix.Cmd(nil, "INCR", "k"))
		pipe.Append(radix.Cmd(&lost, "EXEC"))
		return conn.Do(ctx, pipe)
	}))
	p.saw("WATCH of a key that changes", told(err), lost.Null)

	var queued string
	err = p.client.Do(p.ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
		require.NoError(p, conn.Do(ctx, radix.Cmd(nil, "MULTI")))
		require.NoError(p, conn.Do(ctx, radix.Cmd(&queued, "INCR", "k")))
		return conn.Do(ctx, radix.Cmd(nil, "DISCARD"))
	}))
	p.saw("DISCARD", told(err), queued)
	failed := errors.New("the function's own")
	err = p.client.Do(p.ctx, radix.WithConn("", func(context.Context, radix.Conn) error { return failed }))
	p.saw("the function's error", errors.Is(err, failed))
	err = p.client.Do(p.ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
		return conn.Do(ctx, radix.Cmd(nil, "LPUSH", "k", "x"))
	}))
	p.saw("an error of the server", told(err))
	err = p.client.Do(p.ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
		var raw resp3.RawMessage
		err := conn.EncodeDecode(ctx, radix.Cmd(nil, "GET", "k"), &raw)
		p.saw("EncodeDecode", told(err), string(raw), conn.Addr() != nil)
		return err
	}))
	p.saw("EncodeDecode", told(err))
}

func scripts(p *program) {
	add := radix.NewEvalScript(fmt.Sprintf("--%v\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])", p.ours)) // new to the servers
	for _, key := range []string{"a", "b", "c", "a"} {
		var n int
		p.saw("Cmd", told(p.client.Do(p.ctx, add.Cmd(&n, []string{key}, "2"))), n)
		p.saw("FlatCmd", told(p.client.Do(p.ctx, add.FlatCmd(&n, []string{key}, 3))), n)
	}
	var list []string
	all := radix.NewEvalScript("return {KEYS[1], KEYS[2], ARGV[1], ARGV[2]}")
	p.saw("keys of one slot", told(p.client.Do(p.ctx, all.FlatCmd(&list, []string{"{k}a", "{k}b"}, []string{"x", "y"}))), list)
	p.saw("keys of two slots", told(p.client.Do(p.ctx, all.Cmd(&list, []string{"a", "b"}, "x", "y"))))
	var n int
	p.saw("no keys", told(p.client.Do(p.ctx, radix.NewEvalScript("return 7").Cmd(&n, nil))), n)
	nothing := radix.Maybe{Rcv: &n}
	p.saw("null", told(p.client.Do(p.ctx, radix.NewEvalScript("return false").Cmd(&nothing, []string{"k"}))), nothing.Null)
	p.saw("EVAL", told(p.client.Do(p.ctx, radix.Cmd(&n, "EVAL", "return tonumber(ARGV[1])", "0", "5"))), n)
}

// scriptErrors parses the texts of errors that scripts made up.
func scriptErrors(p *program) {
	for _, text := range []string{
		`MYCODE "x"`, `MYCODE it's 'quoted' text`, "LIMIT " + strings.Repeat("x", 1000), "MYCODE `x` and \"y\"", "ERR Unknown node x", "MYCODE",
	} {
		script := radix.NewEvalScript("return redis.error_reply(ARGV[1])")
		var n int
		p.saw("error_reply", told(p.client.Do(p.ctx, script.Cmd(&n, []string{"k"}, text))))
		p.saw("error_reply without a receiver", told(p.client.Do(p.ctx, script.Cmd(nil, []string{"k"}, text))))
		var direct resp3.SimpleError
		p.saw("error_reply as a value", told(p.client.Do(p.ctx, script.Cmd(&direct, []string{"k"}, text))), direct.S)
		p.saw("dedicated", told(p.client.Do(p.ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(&n, "EVAL", "return redis.error_reply(ARGV[1])", "1", "k", text))
		}))))
		pipe := radix.NewPipeline()
		pipe.Append(radix.Cmd(nil, "GET", "k"))
		pipe.Append(radix.Cmd(&n, "EVAL", "return redis.error_reply(ARGV[1])", "1", "k", text))
		p.saw("in a pipeline", told(p.client.Do(p.ctx, pipe)))
	}
	p.do(radix.Cmd(nil, "SET", "k", "text"))
	p.saw("redis.call", told(p.client.Do(p.ctx, radix.NewEvalScript("return redis.call('INCR', KEYS[1])").Cmd(nil, []string{"k"}))))
	p.saw("error", told(p.client.Do(p.ctx, radix.NewEvalScript("error('MYCODE \"x\"')").Cmd(nil, []string{"k"}))))
	p.saw("a text that does not compile", told(p.client.Do(p.ctx, radix.NewEvalScript("return 'x").Cmd(nil, []string{"k"}))))
}

// serverErrors are texts of the server, as a program that looks for them sees them.
func serverErrors(p *program) {
	p.do(radix.Cmd(nil, "SET", "{k}text", "x"))
	var n int
	for _, command := range []string{
		"LPUSH {k}text x", "INCR {k}text", "NOSUCHCOMMAND {k} x", "GET", "SET {k}text 1 EX 0", "CONFIG GET", "OBJECT NOSUCH {k}text", "XREADGROUP GROUP g c STREAMS {k}s >",
		"EVALSHA ffffffffffffffffffffffffffffffffffffffff 0", "GETRANGE {k}text a b", "RENAME {k}absent {k}text", "CLUSTER NOSUCH",
	} {
		words := strings.Fields(command)
		p.saw(command, told(p.client.Do(p.ctx, radix.Cmd(&n, words[0], words[1:]...))))
		p.saw(command, told(p.client.Do(p.ctx, radix.Cmd(nil, words[0], words[1:]...))))
	}
	err := p.client.Do(p.ctx, radix.Cmd(&n, "INCR", "{k}text"))
	p.saw("the connection is usable", errors.As(err, new(radixresp.ErrConnUsable)))
	p.differs("keys in two slots", told(p.client.Do(p.ctx, radix.Cmd(nil, "MGET", "a", "b"))),
		"CROSSSLOT Keys in request don't hash to the same slot", "another error")
	printed := p.client.Do(p.ctx, radix.Cmd(nil, "OBJECT", "secret", "{k}text")).Error()
	p.differs("what is printed", fmt.Sprint(strings.Contains(printed, "secret")), "true", "false")
}

// An action of the program's own.
type ownAction struct {
	properties radix.ActionProperties
	perform    func(context.Context, radix.Conn) error
}

func (a ownAction) Properties() radix.ActionProperties { return a.properties }

func (a ownAction) Perform(ctx context.Context, conn radix.Conn) error { return a.perform(ctx, conn) }

func customActions(p *program) {
	for _, share := range []bool{true, false} {
		var n, m int
		err := p.client.Do(p.ctx, ownAction{
			radix.ActionProperties{Keys: []string{"{k}a", "{k}b"}, CanShareConn: share, CanRetry: true},
			func(ctx context.Context, conn radix.Conn) error {
				if err := conn.Do(ctx, radix.Cmd(&n, "INCR", "{k}a")); err != nil {
					return err
				}
				return conn.EncodeDecode(ctx, radix.Cmd(nil, "INCR", "{k}b"), &m)
			},
		})
		p.saw("several commands", share, told(err), n, m)
		err = p.client.Do(p.ctx, ownAction{
			radix.ActionProperties{Keys: []string{"a", "b"}, CanShareConn: share},
			func(context.Context, radix.Conn) error { panic("performed") },
		})
		p.saw("keys in two slots", share, told(err))
		err = p.client.Do(p.ctx, ownAction{
			radix.ActionProperties{Keys: []string{"{k}a"}, CanShareConn: share},
			func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, radix.Cmd(nil, "LPUSH", "{k}a", "x"))
			},
		})
		p.saw("an error", share, told(err))
	}
	config := radix.CmdConfig{ActionProperties: func(_ string, args ...string) radix.ActionProperties {
		return radix.ActionProperties{Keys: args[1:2]}
	}}
	var encoding string
	p.do(radix.Cmd(nil, "SET", "k", "1"))
	p.saw("CmdConfig", told(p.client.Do(p.ctx, config.Cmd(&encoding, "OBJECT", "ENCODING", "k"))), encoding)
}
