package model

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// An interpreter runs scripts that are more than one call. The cluster's lock guards
// it.
type interpreter struct {
	state    *lua.LState
	compiled map[string]*lua.FunctionProto // by text; nil if it does not compile
	call     *call                         // that runs
}

func newInterpreter() *interpreter {
	i := &interpreter{state: lua.NewState(lua.Options{SkipOpenLibs: true}), compiled: make(map[string]*lua.FunctionProto)}
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		i.state.Push(i.state.NewFunction(open))
		i.state.Call(0, 0)
	}
	redis := i.state.NewTable()
	redis.RawSetString("call", i.state.NewFunction(i.redisCall))
	i.state.SetGlobal("redis", redis)
	return i
}

// run runs a script and writes its reply, which may be an error without the words
// that servers add; false: it is none.
func (i *interpreter) run(c *call, text string, keys, args [][]byte) bool {
	proto, known := i.compiled[text]
	if !known {
		if chunk, err := parse.Parse(strings.NewReader(text), "user_script"); err == nil {
			proto, _ = lua.Compile(chunk, "user_script")
		}
		i.compiled[text] = proto
	}
	if proto == nil {
		return false
	}
	i.call = c
	i.state.SetGlobal("KEYS", i.strings(keys))
	i.state.SetGlobal("ARGV", i.strings(args))
	i.state.Push(i.state.NewFunctionFromProto(proto))
	if err := i.state.PCall(0, 1, nil); err != nil {
		var raised *lua.ApiError
		said, ok := err.(*lua.ApiError) //nolint:errorlint // PCall returns no other
		if raised = said; !ok || raised.Object == nil {
			c.err("ERR " + err.Error())
			return true
		}
		c.err(strings.TrimPrefix(raised.Object.String(), "-"))
		return true
	}
	value := i.state.Get(-1)
	i.state.Pop(1)
	c.luaValue(value)
	return true
}

func (i *interpreter) strings(of [][]byte) *lua.LTable {
	t := i.state.CreateTable(len(of), 0)
	for _, s := range of {
		t.Append(lua.LString(s))
	}
	return t
}

// redisCall is redis.call.
func (i *interpreter) redisCall(l *lua.LState) int {
	var words [][]byte
	for k := 1; k <= l.GetTop(); k++ {
		switch v := l.Get(k).(type) {
		case lua.LString:
			words = append(words, []byte(v))
		case lua.LNumber:
			words = append(words, strconv.AppendFloat(nil, float64(v), 'g', 17, 64))
		default:
			l.Error(lua.LString("ERR Lua redis lib command arguments must be strings or integers"), 0)
		}
	}
	c := *i.call
	from, resp := len(c.b), c.resp
	c.resp = 2 // of all scripts, unless they ask for more
	c.redis(words...)
	c.resp = resp
	said := append([]byte{}, c.b[from:]...)
	c.b = c.b[:from]
	if said[0] == '-' {
		l.Error(lua.LString(said[1:len(said)-2]), 0)
	}
	value, _ := i.read(said)
	l.Push(value)
	return 1
}

// read makes a value of an encoded reply, and returns what follows it.
func (i *interpreter) read(reply []byte) (v lua.LValue, rest []byte) {
	end := bytes.IndexByte(reply, '\r')
	head, rest := string(reply[1:end]), reply[end+2:]
	number, _ := strconv.ParseInt(head, 10, 64)
	n := int(number) // of a length
	switch kind := reply[0]; {
	case kind == '_', n < 0 && (kind == '$' || kind == '*'):
		return lua.LFalse, rest
	case kind == ':':
		return lua.LNumber(number), rest
	case kind == '$':
		return lua.LString(rest[:n]), rest[n+2:]
	case kind == '*':
		t := i.state.CreateTable(n, 0)
		for range n {
			v, rest = i.read(rest)
			t.Append(v)
		}
		return t, rest
	case kind == '+':
		t := i.state.NewTable()
		t.RawSetString("ok", lua.LString(head))
		return t, rest
	}
	panic(fmt.Sprintf("model: a script gets the reply %q, which is not made for scripts yet", reply))
}

// luaValue writes what a script returns.
func (c *call) luaValue(v lua.LValue) {
	switch v := v.(type) {
	case lua.LNumber:
		c.int(int64(v))
	case lua.LString:
		c.bulkString(string(v))
	case lua.LBool:
		if v {
			c.int(1)
			return
		}
		c.null()
	case *lua.LTable:
		if ok, is := v.RawGetString("ok").(lua.LString); is {
			c.status(string(ok))
			return
		}
		if text, is := v.RawGetString("err").(lua.LString); is {
			c.returned = true
			c.err(string(text))
			return
		}
		c.array(v.Len())
		for i := 1; i <= v.Len(); i++ {
			c.luaValue(v.RawGetInt(i))
		}
	default:
		c.null()
	}
}
