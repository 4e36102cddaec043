package model

import (
	"bytes"
	"errors"
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
	globals  *lua.LTable                   // what scripts see; they cannot change it
	compiled map[string]*lua.FunctionProto // by text; nil if it does not compile
	call     *call                         // that runs
	line     string                        // of the script's error
}

func newInterpreter() *interpreter {
	i := &interpreter{state: lua.NewState(lua.Options{SkipOpenLibs: true}), compiled: make(map[string]*lua.FunctionProto)}
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		i.state.Push(i.state.NewFunction(open))
		i.state.Call(0, 0)
	}
	i.environment()
	return i
}

// compile returns the script of the text, nil if there is none.
func (i *interpreter) compile(text string) *lua.FunctionProto {
	proto, known := i.compiled[text]
	if !known {
		if chunk, err := parse.Parse(strings.NewReader(text), "user_script"); err == nil {
			proto, _ = lua.Compile(chunk, "user_script")
		}
		i.compiled[text] = proto
	}
	return proto
}

// run runs a script and writes its reply, which may be an error without the words
// that servers add. The line is where the error happened.
func (i *interpreter) run(c *call, proto *lua.FunctionProto, keys, args [][]byte) (line string) {
	i.call, i.line = c, "1"
	i.globals.RawSetString("KEYS", i.strings(keys))
	i.globals.RawSetString("ARGV", i.strings(args))
	i.state.Push(i.state.NewFunctionFromProto(proto))
	if err := i.state.PCall(0, 1, i.state.NewFunction(i.locate)); err != nil {
		c.err(raised(err))
		return i.line
	}
	value := i.state.Get(-1)
	i.state.Pop(1)
	c.luaValue(value)
	return i.line
}

// locate is told an error before the stack is gone, and notes the script's line.
func (i *interpreter) locate(l *lua.LState) int {
	for level := 1; ; level++ {
		where := l.Where(level)
		if where == "" {
			return 1
		}
		if line, ok := strings.CutPrefix(where, "user_script:"); ok {
			i.line = strings.Trim(line, ": ")
			return 1
		}
	}
}

// raised is the text of a script's error: as it is if it was a table, as errors of
// redis.call are.
func raised(err error) string {
	var of *lua.ApiError
	if !errors.As(err, &of) || of.Object == nil {
		return "ERR " + err.Error()
	}
	if text, ok := errorText(of.Object); ok {
		return text
	}
	return "ERR " + of.Object.String()
}

// errorText returns the text of a table that stands for an error.
func errorText(v lua.LValue) (string, bool) {
	if t, ok := v.(*lua.LTable); ok {
		text, ok := t.RawGetString("err").(lua.LString)
		return string(text), ok
	}
	return "", false
}

func (i *interpreter) strings(of [][]byte) *lua.LTable {
	t := i.state.CreateTable(len(of), 0)
	for _, s := range of {
		t.Append(lua.LString(s))
	}
	return t
}

// redis runs a command of the script, and returns its reply, encoded.
func (i *interpreter) redis(l *lua.LState) []byte {
	words := make([][]byte, 0, l.GetTop())
	for k := 1; k <= l.GetTop(); k++ {
		switch v := l.Get(k).(type) {
		case lua.LString:
			words = append(words, []byte(v))
		case lua.LNumber:
			words = append(words, numberText(float64(v), 17))
		default:
			return []byte("-" + errScriptArgs + "\r\n")
		}
	}
	if len(words) == 0 {
		return []byte("-ERR Please specify at least one argument for this redis lib call\r\n")
	}
	c := *i.call
	from, resp := len(c.b), c.resp
	c.resp = 2 // of all scripts, unless they ask for more
	c.redis(words...)
	c.resp = resp
	said := bytes.Clone(c.b[from:])
	c.b = c.b[:from]
	return said
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
		return i.table("ok", head), rest
	case kind == '-':
		return i.table("err", head), rest
	}
	panic(fmt.Sprintf("model: a script gets the reply %q, which is not made for scripts yet", reply))
}

// table makes a table of one text, as statuses and errors are.
func (i *interpreter) table(name, text string) *lua.LTable {
	t := i.state.NewTable()
	t.RawSetString(name, lua.LString(text))
	return t
}

// luaValue writes what a script returns.
func (c *call) luaValue(v lua.LValue) {
	switch v := v.(type) {
	case lua.LNumber:
		c.int(toInteger(float64(v)))
	case lua.LString:
		c.bulkString(string(v))
	case lua.LBool:
		if v {
			c.int(1)
			return
		}
		c.null()
	case *lua.LTable:
		c.luaTable(v)
	default:
		c.null()
	}
}

func (c *call) luaTable(t *lua.LTable) {
	if text, is := errorText(t); is {
		c.returned = true
		c.err(text)
		return
	}
	if ok, is := t.RawGetString("ok").(lua.LString); is {
		c.status(oneLine.Replace(string(ok)))
		return
	}
	n := 0 // an array ends before the first nil
	for t.RawGetInt(n+1) != lua.LNil {
		n++
	}
	c.array(n)
	for k := 1; k <= n; k++ {
		c.luaValue(t.RawGetInt(k))
	}
}
