package model

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// forNumbers makes a function that does what one of gopher-lua does, unless convert knows better.
func forNumbers(usual lua.LValue, convert func(lua.LValue) lua.LValue) lua.LGFunction {
	return func(l *lua.LState) int {
		if l.GetTop() == 1 {
			if v := convert(l.Get(1)); v != nil {
				l.Push(v)
				return 1
			}
		}
		l.Insert(usual, 1)
		l.Call(l.GetTop()-1, 1)
		return 1
	}
}

// toString is tostring of a number, which C's %.14g makes; nil if it is none.
func toString(v lua.LValue) lua.LValue {
	if f, ok := v.(lua.LNumber); ok {
		return lua.LString(numberText(float64(f), 14))
	}
	return nil
}

// toNumber is tonumber of a text, which C's strtod reads; nil if it is none.
func toNumber(v lua.LValue) lua.LValue {
	text, ok := v.(lua.LString)
	if !ok {
		return nil
	}
	s := strings.Trim(string(text), " \t\n\v\f\r")
	if n, err := strconv.ParseInt(s, 0, 64); err == nil && strings.ContainsAny(s, "xX") && !strings.Contains(s, "_") {
		return lua.LNumber(n)
	}
	if f, err := strconv.ParseFloat(s, 64); (err == nil || math.IsInf(f, 0)) && !strings.Contains(s, "_") {
		return lua.LNumber(f)
	}
	return lua.LNil
}

// toInteger is what a server replies for a number, which is cut off as C does it.
func toInteger(f float64) int64 {
	if f >= math.MaxInt64 {
		return math.MinInt64
	}
	return int64(f)
}

// numberText is a number as C's %g makes it with so many digits.
func numberText(f float64, digits int) []byte {
	switch {
	case math.IsInf(f, 0):
		return []byte(strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+"))
	case math.IsNaN(f):
		return []byte("-nan")
	}
	return strconv.AppendFloat(nil, f, 'g', digits, 64)
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
