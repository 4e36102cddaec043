// Package leak finds goroutines that tests leave behind. It is for tests and
// what they are made of, needs the standard library alone, and is as strict as
// go.uber.org/goleak, which it stands for: that one would be in the go.mod of
// all users.
package leak

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long a goroutine may take to end after what it worked for.
const patience = 500 * time.Millisecond

// Main runs the tests of a package and exits: with their status, or with 1 if
// they passed and goroutines are left. Call it in TestMain, as Main(m).
func Main(m interface{ Run() int }) { os.Exit(run(m, os.Stderr, patience)) }

func run(m interface{ Run() int }, stderr io.Writer, patience time.Duration) int {
	status := m.Run()
	if status != 0 {
		return status
	}
	left := await(nil, patience)
	if len(left) == 0 {
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "leak: the tests passed, but %s\n", describe(left))
	return 1
}

// Running is the goroutines of one moment.
type Running map[int]bool

// Now returns the goroutines that run now.
func Now() Running {
	ids := make(Running)
	for _, g := range all() {
		ids[g.id] = true
	}
	return ids
}

// Check fails the test if goroutines are left that have been started since, by
// anyone: not for a test that runs beside others.
func (r Running) Check(tb testing.TB) {
	tb.Helper()
	if left := await(r, patience); len(left) > 0 {
		tb.Errorf("leak: %s", describe(left))
	}
}

// await returns the goroutines that are there after patience and were not
// before.
func await(before Running, patience time.Duration) []goroutine {
	end := time.Now().Add(patience)
	for pause := time.Microsecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left := leaked(before)
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
		time.Sleep(pause)
	}
}

func leaked(before Running) (left []goroutine) {
	for _, g := range all()[1:] { // without this one
		if !before[g.id] && !g.ofTheRuntime() {
			left = append(left, g)
		}
	}
	return left
}

func describe(left []goroutine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "goroutines are left (%d):", len(left))
	for _, g := range left {
		b.WriteString("\n\n")
		b.WriteString(g.text)
	}
	return b.String()
}

// A goroutine is what runtime.Stack says of one.
type goroutine struct {
	id    int
	state string // such as "chan receive, 2 minutes"
	top   string // the function that it is in
	text  string
}

// all returns all goroutines, the one that calls it first.
func all() []goroutine {
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	var gs []goroutine
	for text := range strings.SplitSeq(strings.TrimSpace(string(buf[:n])), "\n\n") {
		gs = append(gs, parse(text))
	}
	return gs
}

// parse reads one goroutine's part, which begins as in
//
//	goroutine 18 [chan receive]:
//	net/http.(*Server).Serve(0xc000112000, {0x6f3540, 0xc00012a000})
//
// A part that does not is a panic: the check must not pass because Go's text
// has changed.
func parse(text string) goroutine {
	head, rest, _ := strings.Cut(text, "\n")
	number, state, ok := strings.Cut(strings.TrimPrefix(head, "goroutine "), " ")
	id, err := strconv.Atoi(number)
	if err != nil || !ok {
		panic(fmt.Sprintf("leak: not the head of a goroutine's stack: %q", head))
	}
	_, state, _ = strings.Cut(state, "[") // GODEBUG may add to what is before it
	top, _, _ := strings.Cut(rest, "\n")
	if i := strings.LastIndexByte(top, '('); i > 0 {
		top = top[:i]
	}
	return goroutine{id, strings.TrimSuffix(state, "]:"), top, text}
}

// ofTheRuntime reports whether the goroutine belongs to the testing package or
// to one that keeps it for the whole program.
func (g goroutine) ofTheRuntime() bool {
	switch g.top {
	case "testing.RunTests", "testing.(*T).Run", "testing.(*T).Parallel", "testing.runFuzzing", "testing.runFuzzTests":
		return strings.HasPrefix(g.state, "chan receive")
	case "os/signal.signal_recv", "os/signal.loop":
		return true
	}
	return strings.Contains(g.text, "runtime.ensureSigM") || strings.Contains(g.text, "runtime.ReadTrace")
}
