// Package guard calls functions of users. A panic in one of them becomes an
// error of what it was called for, so that it neither ends the process from a
// goroutine that the user does not know of nor leaves a pool or a lane half-way.
//
// It does not know what the functions are for, and cannot help against one that
// never returns or that ends its goroutine.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// A PanicError says that a user's function has panicked.
type PanicError struct {
	Callback string // such as Dialer.Credentials
	Value    string // what it panicked with: an error, a string, or else only its type
	Stack    string
}

func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %s", e.Callback, e.Value) }

// Catch turns a panic of the function that defers it into an error:
//
//	defer guard.Catch("Dialer.Credentials", &err)
func Catch(callback string, err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{callback, text(v), string(debug.Stack())}
	}
}

// text describes what somebody panicked with. A struct may hold what must not be
// shown.
func text(v any) string {
	switch v := v.(type) {
	case error, string:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("a %T", v)
}

// Value calls a function of a user that returns no error.
func Value[T any](callback string, f func() T) (value T, err error) {
	defer Catch(callback, &err)
	return f(), nil
}

// Call calls a function of a user. A panic in it is noted.
func (l *Log) Call(callback string, f func()) {
	defer l.Catch(callback)
	f()
}

// Catch ends a panic of the function that defers it, and notes it.
func (l *Log) Catch(callback string) {
	if v := recover(); v != nil {
		l.Note(Panicked, callback, text(v), string(debug.Stack()))
	}
}

// Panicked notes err with the stack if it is a panic of a user's function, and does
// nothing otherwise.
func (l *Log) Panicked(err error) {
	if err == nil {
		return // before p, which is on the heap
	}
	var p *PanicError
	if errors.As(err, &p) {
		l.Note(Panicked, p.Callback, p.Value, p.Stack)
	}
}
