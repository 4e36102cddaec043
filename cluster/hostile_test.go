package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// say answers with a text, which is copied here and not with each answer: a new
// connection's PING gets it, too, and memory is measured.
func say(text string) func(io.Writer, []string) bool {
	block := []byte(text)
	return func(w io.Writer, _ []string) bool {
		_, err := w.Write(block)
		return err == nil
	}
}

// forever answers with a text and then another one again and again.
func forever(first, again string) func(io.Writer, []string) bool {
	block := []byte(strings.Repeat(again, 1+(32<<10)/len(again)))
	return func(w io.Writer, _ []string) bool {
		_, err := io.WriteString(w, first)
		for err == nil {
			_, err = w.Write(block)
		}
		return false
	}
}

const lastSlot = cluster.SlotCount - 1

var (
	evilKey, goodKey = redistest.KeyInSlot(0, "evil"), redistest.KeyInSlot(lastSlot, "good")
	evilSlot         = "0"
)

// hostilities are answers to a command, and the error that must come of it: one
// that wraps it, or any that is typed.
var hostilities = []struct {
	name   string
	answer func(io.Writer, []string) bool
	want   error // nil: see says
	says   string
}{
	{"negative bulk", say("$-5\r\n"), redislanes.ErrUnknownOutcome, ""},
	{"huge bulk", forever("$99999999999\r\n", "x"), redislanes.ErrUnknownOutcome, ""},
	{"length of many digits", forever("$", "9"), redislanes.ErrUnknownOutcome, ""},
	{"huge array", forever("*1000000000\r\n", ":1\r\n"), redislanes.ErrUnknownOutcome, ""},
	{"array without elements", say("*16000\r\n"), redislanes.ErrUnknownOutcome, ""},
	{"deep nesting", say(strings.Repeat("*1\r\n", 10_000) + ":1\r\n"), redislanes.ErrUnknownOutcome, ""},
	{"endless nesting", forever("", "*1\r\n"), redislanes.ErrUnknownOutcome, ""},
	{"endless attributes", forever("", "|1\r\n+k\r\n+v\r\n"), redislanes.ErrUnknownOutcome, ""},
	{"endless line", forever("+", "x"), redislanes.ErrUnknownOutcome, ""},
	{"endless pushes", forever("", ">1\r\n+x\r\n"), redislanes.ErrUnknownOutcome, ""},
	{"garbage", say("\x00\xff\x16\x03\x01 HTTP/1.1 400 Bad Request\r\n\r\n"), redislanes.ErrUnknownOutcome, ""},
	{"LF without CR", say(":1\n:1\n"), redislanes.ErrUnknownOutcome, ""},
	{"text that should be a number", say("+ten\r\n"), nil, "cannot be decoded into int64"},
	{"array that should be a number", say("*2\r\n:1\r\n:2\r\n"), nil, "cannot be decoded into int64"},
	{"error of 10 MB", say("-ERR " + strings.Repeat("x", 10<<20) + "\r\n"), redislanes.ErrUnknownOutcome, ""},
	{"half a reply and the end", func(w io.Writer, _ []string) bool { _, _ = io.WriteString(w, "$10\r\nabc"); return false }, redislanes.ErrUnknownOutcome, ""},
	{"MOVED to slot 99999", say("-MOVED 99999 127.0.0.1:1\r\n"), nil, "MOVED"},
	{"MOVED to slot -1", say("-MOVED -1 127.0.0.1:1\r\n"), nil, "MOVED"},
	{"MOVED without anything", say("-MOVED\r\n"), nil, "MOVED"},
	{"MOVED without an address", say("-MOVED " + evilSlot + "\r\n"), nil, "MOVED"},
	{"MOVED to port 99999", say("-MOVED " + evilSlot + " 127.0.0.1:99999\r\n"), nil, "MOVED"},
	{"MOVED to port 0", say("-MOVED " + evilSlot + " 127.0.0.1:0\r\n"), nil, "MOVED"},
	{"MOVED to a long host", say("-MOVED " + evilSlot + " " + strings.Repeat("h", 10_000) + ":1\r\n"), nil, "MOVED"},
	{"MOVED to control characters", say("-MOVED " + evilSlot + " \x00\x1b[2J:1\r\n"), nil, "MOVED"},
	{"MOVED to a closed port", say("-MOVED " + evilSlot + " 127.0.0.1:1\r\n"), errNotRun, "INCRBY on 127.0.0.1:"},
	{"ASK to a closed port", say("-ASK " + evilSlot + " 127.0.0.1:1\r\n"), errNotRun, "INCRBY on 127.0.0.1:"},
	{"MOVED to itself for ever", say("-MOVED " + evilSlot + " :{port}\r\n"), redislanes.ErrRefused, "MOVED"},
	{"ASK to itself for ever", say("-ASK " + evilSlot + " :{port}\r\n"), redislanes.ErrRefused, "ASK"},
}

// errNotRun: the command was not sent to where the redirect led, or the redirect is
// the last that the call has seen before its end.
var errNotRun = errors.New("not sent, or refused")

// incomplete are those of them that could still become a reply: only the
// deadline ends the call. All others must be refused at once.
var incomplete = map[string]bool{"array without elements": true, "endless pushes": true}

// What one call to a hostile server may cost: bytes allocated in all, by this
// process, of which the fake is part, and bytes that stay.
const (
	mayAllocate = 16 << 20
	mayKeep     = 1 << 20
)

// TestHostileServer is not parallel: it measures the memory of the process.
func TestHostileServer(t *testing.T) {
	good := newBystander(t)
	for _, h := range hostilities {
		t.Run(h.name, func(t *testing.T) {
			leaks := leak.Now()
			unknown, patience := errors.Is(h.want, redislanes.ErrUnknownOutcome), time.Minute
			if incomplete[h.name] {
				patience = time.Second // for nothing: only the deadline ends the call
			}
			kept := measure(func() {
				err := callHostile(t, h.answer, patience)
				switch {
				case h.want == nil:
				case errors.Is(h.want, errNotRun):
					require.True(t, errors.Is(err, redislanes.ErrNotSent) || errors.Is(err, redislanes.ErrRefused), "%v", err)
				default:
					require.ErrorIs(t, err, h.want)
				}
				if unknown {
					require.NotErrorIs(t, err, redislanes.ErrNotSent)
					require.Equal(t, incomplete[h.name], errors.Is(err, context.DeadlineExceeded), "%v", err)
				}
				require.ErrorContains(t, err, h.says)
				require.Less(t, len(err.Error()), 1000)
			})
			t.Logf("%d KiB allocated, %d KiB kept", kept.allocated>>10, kept.kept>>10)
			require.Less(t, kept.allocated, int64(mayAllocate))
			require.Less(t, kept.kept, int64(mayKeep))
			leaks.Check(t)
			good.check(t)
		})
	}
}

type memory struct{ allocated, kept int64 }

func measure(f func()) memory {
	var before, after, end runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	runtime.GC()
	runtime.ReadMemStats(&end)
	return memory{int64(after.TotalAlloc - before.TotalAlloc), int64(end.HeapAlloc) - int64(before.HeapAlloc)}
}

// callHostile makes one request to a cluster of a hostile and a good server,
// of which it returns the hostile one's error.
func callHostile(t *testing.T, answer func(io.Writer, []string) bool, patience time.Duration) error {
	t.Helper()
	evil, good := newFake(t), newFake(t)
	defer evil.close()
	defer good.close()
	_, port, _ := strings.Cut(evil.addr(), ":")
	evil.answer = func(w io.Writer, cmd []string) bool {
		return answer(portWriter{w, port}, cmd)
	}
	both := func() string { return slotMap(evil.addr(), good.addr()) }
	evil.slots, good.slots = both, both
	evil.start()
	good.start()
	// The limit of one reply, and not how fast this machine is, bounds the memory
	// that an endless reply costs.
	config := cluster.Config{RefreshEvery: -1, Pool: pool.Laned{Lanes: 1}, Dialer: lanes.Dialer{MaxReply: 1 << 20}}
	client, err := config.New(within(t, 20*time.Second), []string{good.addr()})
	require.NoError(t, err)
	defer client.Close()
	p := pipeline.New(client)
	spoiled, fine := p.IncrBy(evilKey, 1), p.IncrBy(goodKey, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	err = p.Do(ctx)
	require.Less(t, time.Since(began), patience+5*time.Second, "the call ends at its deadline")
	n, fineErr := fine.Int()
	require.NoError(t, fineErr, "the good server has answered")
	require.EqualValues(t, 1, n)
	if err == nil { // a reply, but not of the right type
		_, err = spoiled.Int()
		require.Error(t, err)
		return err
	}
	requireTyped(t, err)
	return err
}

// portWriter writes the server's port where a short text says {port}.
type portWriter struct {
	io.Writer
	port string
}

func (w portWriter) Write(p []byte) (int, error) {
	if len(p) < 100 {
		p = bytes.ReplaceAll(p, []byte("{port}"), []byte(w.port))
	}
	return w.Writer.Write(p)
}

// requireTyped: the error names the command and what became of it.
func requireTyped(t *testing.T, err error) {
	t.Helper()
	var command *redislanes.Error
	require.ErrorAs(t, err, &command)
	require.Equal(t, "INCRBY", command.Command)
	var said resp3.SimpleError
	require.True(t, errors.As(err, &said) || errors.Is(err, redislanes.ErrNotSent) || errors.Is(err, redislanes.ErrUnknownOutcome), "%v", err)
}

// A bystander is a client of a good server, which must not notice anything.
type bystander struct {
	client *cluster.Client
	calls  int
}

func newBystander(t *testing.T) *bystander {
	server := servers.StartServer(t, servers.Options{})
	b := &bystander{client: open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Fixed{Size: 1}}, server.Addrs())}
	b.check(t)
	return b
}

func (b *bystander) check(t *testing.T) {
	t.Helper()
	var n int
	b.calls++
	require.NoError(t, b.client.Do(within(t, 10*time.Second), radix.Cmd(&n, "INCR", "bystander")))
	require.Equal(t, b.calls, n)
	require.EqualValues(t, 1, b.client.Stats().Nodes[0].Pool.Dials)
}

// TestHostileGreeting is not parallel: it measures the memory of the process.
func TestHostileGreeting(t *testing.T) {
	for _, command := range []string{"CLIENT", "CLUSTER"} {
		for name, answer := range map[string]func(io.Writer, []string) bool{
			"garbage":                 say("\x00\xff\x16\x03\x01 HTTP/1.1 400 Bad Request\r\n\r\n"),
			"negative bulk":           say("$-5\r\n"),
			"huge bulk":               forever("$99999999999\r\n", "x"),
			"large bulk":              forever("$536870912\r\n", "x"),
			"array without elements":  say("*16000\r\n"),
			"array of large elements": forever("*1000\r\n", "$1000000\r\n"+strings.Repeat("x", 1_000_000)+"\r\n"),
			"deep nesting":            say(strings.Repeat("*1\r\n", 10_000)),
			"endless line":            forever("+", "x"),
			"endless pushes":          forever("", ">1\r\n+x\r\n"),
		} {
			t.Run(command+" "+name, func(t *testing.T) {
				f := newFake(t)
				f.hijack, f.answer = command, answer
				f.start()
				defer f.close()
				spent := measure(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
					defer cancel()
					began := time.Now()
					_, err := cluster.Config{}.New(ctx, []string{f.addr()})
					var unreachable *cause.Unreachable
					require.ErrorAs(t, err, &unreachable)
					require.Less(t, len(err.Error()), 1000)
					require.Less(t, time.Since(began), time.Second)
				})
				t.Logf("%d KiB allocated, %d KiB kept", spent.allocated>>10, spent.kept>>10)
				require.Less(t, spent.allocated, int64(mayAllocate))
				require.Less(t, spent.kept, int64(mayKeep))
			})
		}
	}
}
