package engine

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
)

// flatten returns arguments as radix.FlatCmd sends them, with these exceptions: a uint64 stays
// what it is beyond the int64s, a []int32 is numbers and no text, and a value of a named type is
// sent as the number, text or bytes that it is. A type that cannot be sent is an error, also if
// its own methods panic, and so is a value that holds itself.
func flatten(name string, args []any) (words []string, err error) {
	defer guard.Catch("the arguments of "+name, &err)
	words = make([]string, 0, len(args))
	for i, arg := range args {
		if words, err = appendArg(words, arg, 0); err == nil {
			continue
		}
		var bad unsendable
		if errors.As(err, &bad) && bad.Type != reflect.TypeOf(arg) {
			return nil, fmt.Errorf("argument %d, a %T, holds a %w: %w", i+1, arg, err, redislanes.ErrNotSent)
		}
		return nil, fmt.Errorf("argument %d is a %w: %w", i+1, err, redislanes.ErrNotSent)
	}
	return words, nil
}

// unsendable is the type of a value that cannot be sent.
type unsendable struct{ reflect.Type }

func (u unsendable) Error() string {
	if u.Type == reflect.TypeFor[time.Duration]() {
		return "time.Duration: pass a number in the unit of the command"
	}
	return u.String() + ", which cannot be sent"
}

// errNested is the error of a value that may hold itself.
var errNested = fmt.Errorf("value that is nested more than %d deep, which cannot be sent", mostNested)

// appendArg appends what is sent of one argument, or of a value that is so deep in one.
func appendArg(words []string, arg any, depth int) ([]string, error) {
	switch v := arg.(type) {
	case string:
		return append(words, v), nil
	case int:
		return append(words, strconv.Itoa(v)), nil
	case time.Duration:
		return words, unsendable{reflect.TypeOf(v)}
	case nil, error, *big.Int, big.Int, *big.Float, big.Float, io.Reader, encoding.TextMarshaler, encoding.BinaryMarshaler:
		flat, err := resp3.Flatten(v, nil)
		if err != nil { // its text may show the value
			return words, unsendable{reflect.TypeOf(v)}
		}
		return append(words, flat...), nil
	}
	v := reflect.ValueOf(arg)
	switch kind := v.Kind(); {
	case v.CanInt():
		return append(words, strconv.FormatInt(v.Int(), 10)), nil
	case v.CanUint():
		return append(words, strconv.FormatUint(v.Uint(), 10)), nil
	case v.CanFloat():
		text := strconv.FormatFloat(v.Float(), 'f', -1, v.Type().Bits())
		return append(words, strings.ToLower(strings.TrimPrefix(text, "+"))), nil // inf, -inf, nan
	case kind == reflect.String:
		return append(words, v.String()), nil
	case kind == reflect.Bool && v.Bool():
		return append(words, "1"), nil
	case kind == reflect.Bool:
		return append(words, "0"), nil
	case kind == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return append(words, string(v.Bytes())), nil
	}
	return appendParts(words, v, depth+1)
}

// appendParts appends what is sent of a pointer, slice, array, map or struct.
func appendParts(words []string, v reflect.Value, depth int) (_ []string, err error) {
	if depth > mostNested {
		return words, errNested
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return appendArg(words, v.Elem().Interface(), depth)
		}
		switch v.Type().Elem().Kind() {
		case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
			return words, nil // no parts
		}
		return append(words, ""), nil
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && err == nil; i++ {
			words, err = appendArg(words, v.Index(i).Interface(), depth)
		}
		return words, err
	case reflect.Map:
		for each := v.MapRange(); err == nil && each.Next(); {
			if words, err = appendArg(words, each.Key().Interface(), depth); err == nil {
				words, err = appendArg(words, each.Value().Interface(), depth)
			}
		}
		return words, err
	case reflect.Struct:
		return appendFields(words, v, depth)
	}
	return words, unsendable{v.Type()}
}

// appendFields appends the names and values of a struct's fields. Those of embedded structs,
// which may be of an unexported type, are its own.
func appendFields(words []string, v reflect.Value, depth int) (_ []string, err error) {
	for i := 0; i < v.NumField() && err == nil; i++ {
		field, value := v.Type().Field(i), v.Field(i)
		name := field.Tag.Get("redis")
		inner := reflect.Indirect(value)
		switch {
		case field.Anonymous && inner.IsValid() && inner.CanInterface():
			words, err = appendArg(words, inner.Interface(), depth)
		case field.Anonymous && inner.Kind() == reflect.Struct:
			words, err = appendParts(words, inner, depth+1)
		case field.Anonymous || !field.IsExported() || name == "-":
		default:
			words, err = appendArg(append(words, cmp.Or(name, field.Name)), value.Interface(), depth)
		}
	}
	return words, err
}
