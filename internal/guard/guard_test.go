package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func call(f func()) (err error) {
	defer Catch("Config.F", &err)
	f()
	return nil
}

func TestCatch(t *testing.T) {
	type secret struct{ password string }
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() {}, ""},
		{func() { panic("boom") }, "Config.F panicked: boom"},
		{func() { panic(errors.New("an error")) }, "Config.F panicked: an error"},
		{func() { var none []int; none[len(none)]++ }, "Config.F panicked: runtime error: index out of range [0] with length 0"},
		{func() { panic(secret{"geheim"}) }, "Config.F panicked: a guard.secret"},
	} {
		err := call(c.f)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
		var p *PanicError
		require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &p)
		require.Contains(t, p.Stack, "TestCatch")
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = call(func() {}) }))
}

// A rude handler panics.
type rude struct{ in string }

func (r rude) say(in string) {
	if r.in == in {
		panic(in)
	}
}
func (r rude) Enabled(context.Context, slog.Level) bool  { r.say("Enabled"); return true }
func (r rude) Handle(context.Context, slog.Record) error { r.say("Handle"); return nil }
func (r rude) WithAttrs([]slog.Attr) slog.Handler        { return r }
func (r rude) WithGroup(string) slog.Handler             { return r }

func TestPanicked(t *testing.T) {
	var b bytes.Buffer
	j := NewLog(slog.New(slog.NewTextHandler(&b, nil)).With("addr", "a:1"))
	j.Panicked(nil)
	j.Panicked(errors.New("no panic"))
	j.Panicked(fmt.Errorf("dial: %w", call(func() { panic("boom") })))
	require.Contains(t, b.String(), `level=ERROR msg="callback panicked" addr=a:1 callback=Config.F panic=boom stack=`)
	require.Equal(t, 1, strings.Count(b.String(), "level="))
}
