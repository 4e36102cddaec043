package model

import (
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
	i.globals.RawSetString("tostring", l.NewFunction(forNumbers(l.GetGlobal("tostring"), toString)))
	i.globals.RawSetString("tonumber", l.NewFunction(forNumbers(l.GetGlobal("tonumber"), toNumber)))
	numbers := i.globals.RawGetString("math").(*lua.LTable)
	numbers.RawSetString("huge", lua.LNumber(math.Inf(1)))
	numbers.RawSetString("random", lua.LNil) // or else a seed would not repeat
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
	for name, f := range map[string]lua.LGFunction{
		"call": i.redisCall, "pcall": i.redisPcall,
		"error_reply":  func(l *lua.LState) int { return i.single(l, "err") },
		"status_reply": func(l *lua.LState) int { return i.single(l, "ok") },
	} {
		t.RawSetString(name, i.state.NewFunction(f))
	}
	return t
}

// redisCall is redis.call.
func (i *interpreter) redisCall(l *lua.LState) int {
	said := i.redis(l)
	value, _ := i.read(said)
	if said[0] == '-' {
		l.Error(value, 0)
	}
	l.Push(value)
	return 1
}

// redisPcall is redis.pcall, which returns errors.
func (i *interpreter) redisPcall(l *lua.LState) int {
	value, _ := i.read(i.redis(l))
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
