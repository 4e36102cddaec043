package leak

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// impatient is for checks that must find something.
const impatient = 20 * time.Millisecond

func TestMain(m *testing.M) { Main(m) }

// stay starts a goroutine that stays until its test lets it go. It runs when stay
// returns.
func stay(tb testing.TB) {
	let, gone := make(chan struct{}), make(chan struct{})
	startStaying(let, gone)
	tb.Cleanup(func() {
		close(let)
		<-gone
	})
}

func startStaying(let, gone chan struct{}) {
	runs := make(chan struct{})
	go staying(runs, let, gone)
	<-runs
}

func staying(runs, let, gone chan struct{}) {
	close(runs)
	defer close(gone)
	<-let
}

func TestFindsWhatStays(t *testing.T) {
	before := Now()
	require.Empty(t, await(before, 0))
	stay(t)
	left := await(before, impatient)
	require.Len(t, left, 1)
	text := describe(left)
	require.Contains(t, text, "goroutines are left (1):")
	require.Contains(t, text, "leak.staying(")
	require.Contains(t, text, "leak_test.go:")
	require.Contains(t, text, "created by")
	require.Empty(t, await(Now(), 0), "it was there before")
}

// Each of them waits in a way of its own.
func TestFindsHoweverItWaits(t *testing.T) {
	for name, wait := range map[string]func(end chan struct{}){
		"channel": func(end chan struct{}) { <-end },
		"select": func(end chan struct{}) {
			select {
			case <-end:
			case <-time.After(time.Hour):
			}
		},
		"timer": func(end chan struct{}) {
			for {
				select {
				case <-end:
					return
				default:
					time.Sleep(time.Millisecond)
				}
			}
		},
		"running": func(end chan struct{}) {
			for {
				select {
				case <-end:
					return
				default: //nolint:staticcheck // SA5004: it is to spin
				}
			}
		},
		"pipe": func(end chan struct{}) {
			r, w, err := os.Pipe()
			if err != nil {
				panic(err)
			}
			go func() {
				<-end
				w.Close()
			}()
			_, _ = r.Read(make([]byte, 1))
			r.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, end := Now(), make(chan struct{})
			go wait(end)
			require.NotEmpty(t, await(before, impatient))
			close(end)
			require.Empty(t, await(before, 20*time.Second))
		})
	}
}

func TestWaitsForWhatEnds(t *testing.T) {
	before, let, gone := Now(), make(chan struct{}), make(chan struct{})
	startStaying(let, gone)
	time.AfterFunc(5*time.Millisecond, func() { close(let) })
	require.Empty(t, await(before, 20*time.Second))
}

// fakeTB notes what Check says.
type fakeTB struct {
	testing.TB
	said string
}

func (f *fakeTB) Helper()                         {}
func (f *fakeTB) Errorf(form string, args ...any) { f.said = fmt.Sprintf(form, args...) }

func TestCheck(t *testing.T) {
	before := Now()
	f := new(fakeTB)
	before.Check(f)
	require.Empty(t, f.said)
	stay(t)
	before.Check(f)
	require.Contains(t, f.said, "leak.staying(")
	f.said = ""
	Now().Check(f)
	require.Empty(t, f.said)
}

// An m stands for the tests of a package.
type m func() int

func (f m) Run() int { return f() }

func TestRun(t *testing.T) {
	var said bytes.Buffer
	require.Equal(t, 0, run(m(func() int { return 0 }), &said, 20*time.Second))
	require.Empty(t, said.String())

	leaks := m(func() int {
		stay(t)
		return 0
	})
	require.Equal(t, 1, run(leaks, &said, impatient))
	require.Contains(t, said.String(), "leak.staying(")

	// What failed stays as it is: its goroutines are no news.
	said.Reset()
	require.Equal(t, 3, run(m(func() int { return 3 }), &said, impatient))
	require.Empty(t, said.String())
}

// TestMainExits runs this test program once more, for one test that leaks.
func TestMainExits(t *testing.T) {
	for stays, want := range map[string]string{"": "PASS", "1": "leak: the tests passed, but goroutines are left (1):"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLeaks$")
		cmd.Env = append(os.Environ(), "LEAK_STAY="+stays)
		out, err := cmd.CombinedOutput()
		require.Contains(t, string(out), want)
		if stays == "" {
			require.NoError(t, err, string(out))
			continue
		}
		require.ErrorContains(t, err, "exit status 1")
		require.Contains(t, string(out), "leak.staying(")
	}
}

func TestLeaks(t *testing.T) {
	if os.Getenv("LEAK_STAY") == "1" {
		startStaying(make(chan struct{}), make(chan struct{}))
	}
}

// What the program keeps for itself is no leak.
func TestSignalsAreNoLeak(t *testing.T) {
	before, signals := Now(), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	require.Empty(t, await(before, impatient))
}

// Parents and parallel tests wait in the testing package.
func TestParallel(t *testing.T) {
	before := Now()
	for range 3 {
		t.Run("waits", func(t *testing.T) { t.Parallel() })
	}
	require.Empty(t, await(before, impatient))
}

func TestParse(t *testing.T) {
	for head, want := range map[string]goroutine{
		"goroutine 18 [chan receive]:":                        {id: 18, state: "chan receive"},
		"goroutine 7 [select, 2 minutes]:":                    {id: 7, state: "select, 2 minutes"},
		"goroutine 9 [IO wait, locked to thread]:":            {id: 9, state: "IO wait, locked to thread"},
		"goroutine 5 [sleep (durable), synctest bubble 4]:":   {id: 5, state: "sleep (durable), synctest bubble 4"},
		"goroutine 1 gp=0xc000002380 m=nil [chan receive]:":   {id: 1, state: "chan receive"},
		"goroutine 123456 gp=0xc000002380 m=0 mp=0x5 [idle]:": {id: 123456, state: "idle"},
	} {
		want.text = head + "\nnet/http.(*Server).Serve(0xc000112000, {0x6f3540, 0xc00012a000})\n\t/src/server.go:3 +0x1"
		want.top = "net/http.(*Server).Serve"
		require.Equal(t, want, parse(want.text), head)
	}
	for _, head := range []string{"", "goroutine", "goroutine x [idle]:", "panic: no"} {
		require.PanicsWithValue(t, fmt.Sprintf("leak: not the head of a goroutine's stack: %q", head), func() { parse(head) }, head)
	}
}

// A stack that does not fit into the first buffer is not cut.
func TestManyGoroutines(t *testing.T) {
	before := Now()
	for range 2000 {
		stay(t)
	}
	left := await(before, 0)
	require.Len(t, left, 2000)
	require.True(t, strings.HasPrefix(left[1999].text, "goroutine "))
}
