package model

import (
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
