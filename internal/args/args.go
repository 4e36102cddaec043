// Package args encodes commands with arguments of any type that Redis has a form for.
package args

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
)

// Append appends the command. An argument of a type that cannot be sent is an error, and b stays as
// it is.
func Append(b []byte, name string, args []any) ([]byte, error) {
	encoded := resp.AppendArray(b, 1+len(args))
	encoded = resp.AppendBulk(encoded, name)
	for i, arg := range args {
		var err error
		if encoded, err = appendArg(encoded, arg); err != nil {
			return b, fmt.Errorf("argument %d is a %w: %w", i+1, err, redislanes.ErrNotSent)
		}
	}
	return encoded, nil
}

func appendArg(b []byte, arg any) ([]byte, error) {
	switch v := arg.(type) {
	case string:
		return resp.AppendBulk(b, v), nil
	case []byte:
		return resp.AppendBulk(b, v), nil
	case bool:
		if v {
			return resp.AppendBulk(b, "1"), nil
		}
		return resp.AppendBulk(b, "0"), nil
	case int:
		return resp.AppendBulkInt(b, int64(v)), nil
	case int64:
		return resp.AppendBulkInt(b, v), nil
	case float64:
		return appendFloat(b, v, 64), nil
	case time.Duration:
		return b, fmt.Errorf("%T: pass a number in the unit of the command", v)
	case encoding.TextMarshaler:
		return appendMarshaled(b, arg, v.MarshalText)
	case encoding.BinaryMarshaler:
		return appendMarshaled(b, arg, v.MarshalBinary)
	}
	if v := reflect.ValueOf(arg); v.IsValid() && v.Type().PkgPath() == "" { // no named type
		switch {
		case v.CanInt():
			return resp.AppendBulkInt(b, v.Int()), nil
		case v.CanUint():
			return resp.AppendBulk(b, strconv.FormatUint(v.Uint(), 10)), nil
		case v.CanFloat():
			return appendFloat(b, v.Float(), v.Type().Bits()), nil
		}
	}
	return b, fmt.Errorf("%T, which cannot be sent: pass strings, numbers, bools, []byte, or what implements encoding.TextMarshaler or encoding.BinaryMarshaler", arg)
}

// appendFloat appends a number, or inf, -inf or nan.
func appendFloat(b []byte, v float64, bits int) []byte {
	text := strconv.FormatFloat(v, 'f', -1, bits)
	return resp.AppendBulk(b, strings.ToLower(strings.TrimPrefix(text, "+")))
}

// appendMarshaled appends what a method of the program returns. The text of its error may show the
// value, so it is not printed.
func appendMarshaled(b []byte, arg any, marshal func() ([]byte, error)) ([]byte, error) {
	text, err := call(marshal)
	if err != nil {
		return b, cause.Hidden(fmt.Sprintf("%T, and its marshaler has failed", arg), err)
	}
	return resp.AppendBulk(b, text), nil
}

func call(marshal func() ([]byte, error)) (text []byte, err error) {
	defer guard.Catch("the marshaler of an argument", &err)
	return marshal()
}
