package migrate

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"net"
	"reflect"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"
)

// A user is a receiver with fields, and an argument.
type user struct {
	Name  string `redis:"name"`
	Age   int
	Skip  string `redis:"-"`
	Inner        // its fields are the user's
}

// Inner is embedded.
type Inner struct{ City string }

// pointsTo makes a receiver of the type.
func pointsTo[T any]() any { return new(T) }

// fitting are commands and the receivers that take their replies.
var fitting = []struct {
	command string
	into    []func() any
}{
	{"GET {k}int", []func() any{
		pointsTo[string], pointsTo[[]byte], pointsTo[int], pointsTo[int8], pointsTo[int64], pointsTo[uint8], pointsTo[uint64], pointsTo[float32],
		pointsTo[float64], pointsTo[any], pointsTo[*string], pointsTo[*int], pointsTo[big.Int], pointsTo[big.Float], pointsTo[bytes.Buffer],
		pointsTo[resp3.RawMessage], pointsTo[resp3.BlobString], pointsTo[doubled], nothing,
	}},
	{"GET {k}float", []func() any{pointsTo[float32], pointsTo[float64], pointsTo[big.Float], pointsTo[string]}},
	{"GET {k}text", []func() any{pointsTo[string], pointsTo[[]byte], pointsTo[any], pointsTo[bytes.Buffer], nothing}},
	{"GET {k}ip", []func() any{pointsTo[net.IP]}},
	{"GET {k}empty", []func() any{pointsTo[string], pointsTo[[]byte], pointsTo[*string]}},
	{"GET {k}absent", []func() any{
		pointsTo[string], pointsTo[[]byte], pointsTo[*string], pointsTo[any], pointsTo[int], pointsTo[[]string], pointsTo[map[string]string],
		pointsTo[resp3.RawMessage], nothing,
	}},
	{"INCR {k}n", []func() any{pointsTo[int], pointsTo[uint16], pointsTo[string], pointsTo[[]byte], pointsTo[any], pointsTo[*int64], pointsTo[bool], pointsTo[resp3.Number], nothing}},
	{"TYPE {k}int", []func() any{pointsTo[string], pointsTo[[]byte], pointsTo[any], pointsTo[resp3.RawMessage]}},
	{"LRANGE {k}list 0 -1", []func() any{
		pointsTo[[]string], pointsTo[[][]byte], pointsTo[[]int], pointsTo[[]*string], pointsTo[[]any], pointsTo[any], pointsTo[resp3.RawMessage], nothing,
	}},
	{"LRANGE {k}absent 0 -1", []func() any{pointsTo[[]string], pointsTo[any], nothing}},
	{"HGETALL {k}hash", []func() any{pointsTo[map[string]string], pointsTo[map[string][]byte], pointsTo[user], pointsTo[[]string], nothing}},
	{"HGETALL {k}absent", []func() any{pointsTo[map[string]string], pointsTo[user]}},
	{"HMGET {k}hash name absent", []func() any{pointsTo[[]string], pointsTo[[]*string]}},
	{"ZSCORE {k}zset m", []func() any{pointsTo[float64], pointsTo[string], pointsTo[any]}},
	{"ZSCORE {k}zset n", []func() any{pointsTo[float64]}},
	{"ZRANGE {k}zset 0 -1", []func() any{pointsTo[[]string]}},
	{"SMEMBERS {k}set", []func() any{pointsTo[[]string], pointsTo[map[string]struct{}]}},
	{"INCR {k}list", []func() any{pointsTo[int], pointsTo[resp3.SimpleError], pointsTo[any], pointsTo[resp3.RawMessage], nothing}},
}

func nothing() any { return nil }

// receivers decodes replies of all kinds into receivers of all kinds, and some into
// such that do not fit, after which radix may close the connection.
func receivers(p *program) {
	p.do(radix.Cmd(nil, "MSET", "{k}int", "42", "{k}float", "1.5", "{k}text", "a\r\nb\x00", "{k}ip", "127.0.0.1", "{k}empty", ""))
	p.do(radix.Cmd(nil, "RPUSH", "{k}list", "1", "2", "3"))
	p.do(radix.Cmd(nil, "HSET", "{k}hash", "name", "x", "Age", "7", "City", "y"))
	p.do(radix.Cmd(nil, "ZADD", "{k}zset", "1.5", "m", "inf", "n"))
	p.do(radix.Cmd(nil, "SADD", "{k}set", "1"))
	receive := func(command string, into any) {
		words := strings.Fields(command)
		err := p.client.Do(p.ctx, radix.Cmd(into, words[0], words[1:]...))
		p.saw(fmt.Sprintf("%s into %T", command, into), told(err), shown(into))
	}
	for _, reply := range fitting {
		for _, into := range reply.into {
			receive(reply.command, into())
		}
	}
	for _, into := range []any{new(int), new(net.IP), new([]string)} {
		receive("GET {k}text", into)
		p.renew()
	}
	receive("LRANGE {k}list 0 -1", new(string))
}

// shown prints what a receiver holds.
func shown(into any) string {
	if b, ok := into.(*bytes.Buffer); ok {
		return b.String()
	}
	v := reflect.ValueOf(into)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() {
		return ""
	}
	list, ok := v.Interface().([]*string)
	if !ok {
		return fmt.Sprintf("%+v", v)
	}
	var each []string
	for _, s := range list {
		each = append(each, shown(s))
	}
	return strings.Join(each, ",")
}

// doubled is an Unmarshaler of the program's own.
type doubled struct{ n int64 }

func (d *doubled) UnmarshalRESP(in radixresp.BufferedReader, o *radixresp.Opts) error {
	err := resp3.Unmarshal(in, &d.n, o)
	d.n *= 2
	return err
}

// arguments sends arguments of all types by FlatCmd.
func arguments(p *program) {
	text := "pointer"
	for _, args := range [][]any{
		{1, int8(2), uint64(3), 1.5, float32(2.5), true, false, nil, []byte("bytes"), "text"}, {[]string{"a", "b"}, []int{1, 2}, [][]byte{{0}}},
		{map[string]int{"only": 1}}, {user{Name: "x", Age: 1}}, {&text, (*string)(nil)}, {time.Second, net.IPv4(127, 0, 0, 1)},
		{big.NewInt(1 << 40), big.NewFloat(0.5)}, {radixresp.NewLenReader(strings.NewReader("reader"), 6)}, {bytes.NewBufferString("buffer")},
		{[]any{1, []any{"nested"}}}, {func() {}}, {struct{ C chan int }{}},
	} {
		list := append([]any{"{args}" + fmt.Sprint(len(args))}, args...)
		err := p.client.Do(p.ctx, radix.FlatCmd(nil, "RPUSH", list...))
		var stored []string
		p.do(radix.Cmd(&stored, "LRANGE", "{args}"+fmt.Sprint(len(args)), "0", "-1"))
		p.saw(fmt.Sprintf("%T", args[0]), told(err), fmt.Sprintf("%q", stored))
	}
	var n int
	p.do(radix.CmdConfig{}.FlatCmd(&n, "INCRBY", "{args}n", 7))
	p.saw("a lower-case name", told(p.client.Do(p.ctx, radix.Cmd(&n, "incrby", "{args}n", "1"))), n)
}

func maybe(p *program) {
	p.do(radix.Cmd(nil, "SET", "text", "x"))
	receive := func(command string, into any) {
		words := strings.Fields(command)
		got := radix.Maybe{Rcv: into}
		err := p.client.Do(p.ctx, radix.Cmd(&got, words[0], words[1:]...))
		p.saw(fmt.Sprintf("%s into %T", command, into), told(err), got.Null, got.Empty, shown(into))
	}
	for _, command := range []string{"GET text", "GET absent", "BLPOP absent 0.01", "INCR text", "SET text y NX"} {
		receive(command, new(string))
		receive(command, nil)
	}
	for _, command := range []string{"LRANGE absent 0 -1", "BLPOP absent 0.01", "INCR text"} {
		receive(command, new([]string))
	}
	receive("HGETALL absent", new(map[string]string))
	receive("GET text", new([]string))
}

func tuple(p *program) {
	var number int
	var text string
	var list []string
	reply := radix.NewEvalScript("return {1, 'two', {'three', 'four'}, redis.call('GET', KEYS[1])}")
	absent := radix.Maybe{Rcv: new(string)}
	err := p.client.Do(p.ctx, reply.Cmd(&radix.Tuple{&number, &text, &list, &absent}, []string{"k"}))
	p.saw("all", told(err), number, text, list, absent.Null)
	err = p.client.Do(p.ctx, reply.Cmd(&radix.Tuple{nil, nil, nil, nil}, []string{"k"}))
	p.saw("none", told(err))
	err = p.client.Do(p.ctx, reply.Cmd(&radix.Tuple{&number}, []string{"k"}))
	p.saw("another length", told(err))
	p.renew()
	err = p.client.Do(p.ctx, reply.Cmd(&radix.Tuple{&number, &number, nil, nil}, []string{"k"}))
	p.saw("another type", told(err), number)
}

// inPipeline performs radix.Pipelines: replies, an error among them, and what cannot be
// in one.
func inPipeline(p *program) {
	run := func(what string, actions ...radix.Action) {
		pipe := radix.NewPipeline()
		for _, a := range actions {
			pipe.Append(a)
		}
		p.saw(what, told(p.client.Do(p.ctx, pipe)))
	}
	var a, b int
	var none radix.Maybe
	var text string
	run("replies", radix.Cmd(&a, "INCRBY", "{k}a", "3"), radix.FlatCmd(&b, "INCRBY", "{k}b", 4), radix.Cmd(&none, "GET", "{k}none"), radix.Cmd(nil, "PING"))
	p.saw("replies", a, b, none.Null)
	run("an error of the server", radix.Cmd(&a, "INCRBY", "{k}a", "1"), radix.Cmd(nil, "LPUSH", "{k}a", "x"), radix.Cmd(&b, "INCRBY", "{k}b", "1"))
	p.saw("an error of the server", a, b)
	run("an error without a receiver", radix.Cmd(nil, "LPUSH", "{k}a", "x"))
	run("a receiver that does not fit", radix.Cmd(nil, "SET", "{k}text", "x"), radix.Cmd(&a, "GET", "{k}text"), radix.Cmd(&text, "GET", "{k}text"))
	p.saw("a receiver that does not fit", text)
	p.renew()
	run("an argument that cannot be encoded", radix.FlatCmd(nil, "SET", "{k}func", func() {}), radix.Cmd(&b, "INCRBY", "{k}b", "1"))
	p.saw("none of it ran", b)
	p.renew()
	run("nothing")
	for name, action := range map[string]radix.Action{
		"a script": radix.NewEvalScript("return 1").Cmd(nil, nil), "BLPOP": radix.Cmd(nil, "BLPOP", "k", "0"),
		"WithConn": radix.WithConn("k", func(context.Context, radix.Conn) error { return nil }),
	} {
		require.Panics(p, func() { radix.NewPipeline().Append(action) }, name)
	}
	again := radix.NewPipeline()
	for range 2 {
		again.Reset()
		again.Append(radix.Cmd(&a, "INCRBY", "{k}a", "1"))
		p.saw("reset", told(p.client.Do(p.ctx, again)), a)
	}
	run("keys in two slots", radix.Cmd(nil, "GET", "a"), radix.Cmd(nil, "GET", "b"))
}
