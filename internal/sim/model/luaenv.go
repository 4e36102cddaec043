package model

import (
	"context"
	"errors"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// hidden are functions of Lua that servers keep from scripts.
var hidden = []string{
	"print", "dofile", "loadfile", "newproxy", "module", "require", "getfenv", "setfenv", "_printregs", "_GOPHER_LUA_VERSION",
}

// environment makes what scripts see. They may read what there is, and change nothing.
func (i *interpreter) environment() {
	l := i.state
	visible := l.G.Global
	i.globals = l.NewTable()
	visible.ForEach(func(name, value lua.LValue) { i.globals.RawSet(name, value) })
	for _, name := range hidden {
		i.globals.RawSetString(name, lua.LNil)
	}
	i.globals.RawSetString("redis", i.library())
	i.globals.RawSetString("pcall", l.NewFunction(pcall))
	numbers := i.globals.RawGetString("math").(*lua.LTable)
	numbers.RawSetString("random", l.NewFunction(i.mathRandom))
	numbers.RawSetString("randomseed", l.NewFunction(i.mathSeed))
	for _, name := range []string{"redis", "string", "table", "math"} {
		i.globals.RawSetString(name, i.readOnly(l.NewTable(), i.globals.RawGetString(name)))
	}
	missing := l.NewTable()
	missing.RawSetString("__index", l.NewFunction(func(l *lua.LState) int {
		l.Error(lua.LString("Script attempted to access nonexistent global variable '"+l.Get(2).String()+"'"), 1)
		return 0
	}))
	i.globals.Metatable = missing
	i.readOnly(visible, i.globals)
	visible.ForEach(func(name, _ lua.LValue) { visible.RawSet(name, lua.LNil) })
}

// readOnly makes the table t show what there is in another one, and keep it.
func (i *interpreter) readOnly(t *lua.LTable, of lua.LValue) *lua.LTable {
	meta := i.state.NewTable()
	meta.RawSetString("__index", of)
	meta.RawSetString("__newindex", i.state.NewFunction(func(l *lua.LState) int {
		l.Error(lua.LString("Attempt to modify a readonly table"), 1)
		return 0
	}))
	t.Metatable = meta
	return t
}

// library is the table redis.
func (i *interpreter) library() *lua.LTable {
	t := i.state.NewTable()
	for name, value := range map[string]int{
		"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
		"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3,
	} {
		t.RawSetString(name, lua.LNumber(value))
	}
	nothing := func(*lua.LState) int { return 0 }
	for name, f := range map[string]lua.LGFunction{
		"call": i.redisCall, "pcall": i.redisPcall, "sha1hex": i.sha1hex, "log": i.log, "set_repl": nothing, "debug": nothing,
		"error_reply":        func(l *lua.LState) int { return i.single(l, "err") },
		"status_reply":       func(l *lua.LState) int { return i.single(l, "ok") },
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
		"breakpoint":         func(l *lua.LState) int { l.Push(lua.LFalse); return 1 },
	} {
		t.RawSetString(name, i.state.NewFunction(f))
	}
	return t
}

// redisCall is redis.call.
func (i *interpreter) redisCall(l *lua.LState) int {
	said := i.redis(l)
	if said[0] == '-' {
		l.Error(i.table("err", string(said[1:len(said)-2])), 0)
	}
	value, _ := i.read(said)
	l.Push(value)
	return 1
}

// redisPcall is redis.pcall, which returns errors.
func (i *interpreter) redisPcall(l *lua.LState) int {
	said := i.redis(l)
	if said[0] == '-' {
		l.Push(i.table("err", string(said[1:len(said)-2])))
		return 1
	}
	value, _ := i.read(said)
	l.Push(value)
	return 1
}

// pcall is that of Lua. Errors of redis.call are texts for it.
func pcall(l *lua.LState) int {
	l.CheckAny(1)
	if err := l.PCall(l.GetTop()-1, lua.MultRet, nil); err != nil {
		var of *lua.ApiError
		said := lua.LValue(lua.LString(err.Error()))
		if errors.As(err, &of) {
			said = of.Object
		}
		if text, ok := errorText(said); ok {
			said = lua.LString(text)
		}
		l.Push(lua.LFalse)
		l.Push(said)
		return 2
	}
	l.Insert(lua.LTrue, 1)
	return l.GetTop()
}

// single is redis.error_reply and redis.status_reply.
func (i *interpreter) single(l *lua.LState, name string) int {
	text, ok := l.Get(1).(lua.LString)
	switch {
	case l.GetTop() != 1 || !ok:
		l.Push(i.table("err", "ERR wrong number or type of arguments"))
		return 1
	case name == "err":
		text = lua.LString(strings.TrimPrefix(string(text), "-"))
		if !strings.Contains(string(text), " ") {
			text = "ERR " + text
		}
	}
	l.Push(i.table(name, string(text)))
	return 1
}

func (i *interpreter) sha1hex(l *lua.LState) int {
	if l.GetTop() != 1 {
		l.Error(i.table("err", "ERR wrong number of arguments"), 0)
	}
	l.Push(lua.LString(sha([]byte(lua.LVAsString(l.Get(1))))))
	return 1
}

// log is redis.log. Nobody reads the log.
func (i *interpreter) log(l *lua.LState) int {
	level, ok := l.Get(1).(lua.LNumber)
	switch {
	case l.GetTop() < 2:
		l.Error(i.table("err", "ERR redis.log() requires two arguments or more."), 0)
	case !ok:
		l.Error(i.table("err", "ERR First argument must be a number (log level)."), 0)
	case level < 0 || level > 3:
		l.Error(i.table("err", "ERR Invalid debug level."), 0)
	}
	return 0
}

// firstRandom is the state of lrand48 when a server starts: all servers have the same numbers.
const firstRandom = 0x1234ABCD330E

func (i *interpreter) mathSeed(l *lua.LState) int {
	i.random = uint64(uint32(l.CheckInt64(1)))<<16 | 0x330E
	return 0
}

// mathRandom is math.random with the numbers of lrand48, as servers have it.
func (i *interpreter) mathRandom(l *lua.LState) int {
	i.random = (i.random*0x5DEECE66D + 0xB) & (1<<48 - 1)
	r := float64(i.random>>17%math.MaxInt32) / math.MaxInt32
	first, last := 1, 0
	switch l.GetTop() {
	case 0:
		l.Push(lua.LNumber(r))
		return 1
	case 1:
		last = l.CheckInt(1)
	case 2:
		first, last = l.CheckInt(1), l.CheckInt(2)
	default:
		l.RaiseError("wrong number of arguments")
	}
	if first > last {
		l.ArgError(l.GetTop(), "interval is empty")
	}
	l.Push(lua.LNumber(math.Floor(r*float64(last-first+1)) + float64(first)))
	return 1
}

// A budget ends a script that runs for too long: it is asked before each instruction. A real
// server would reply BUSY to others meanwhile.
type budget struct {
	context.Context
	left int
	over chan struct{}
}

const mostInstructions = 20_000_000

func newBudget() *budget {
	b := &budget{Context: context.Background(), left: mostInstructions, over: make(chan struct{})}
	close(b.over)
	return b
}

// Done returns a closed channel when the budget is used up.
func (b *budget) Done() <-chan struct{} {
	if b.left--; b.left > 0 {
		return nil
	}
	return b.over
}

func (b *budget) Err() error {
	return errors.New("the script runs for more than 20,000,000 instructions, and the simulated server ends it")
}
