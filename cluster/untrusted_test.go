package cluster_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// TestReplyNobodyAskedFor: the connection on which it comes cannot be trusted
// any more.
func TestReplyNobodyAskedFor(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(w io.Writer, cmd []string) bool {
		if cmd[0] == "PING" { // which a pool sends after connections that died young
			return say("+PONG\r\n")(w, cmd)
		}
		return say(":1\r\n:2\r\n")(w, cmd)
	}
	f.start()
	client := open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Laned{Lanes: 1}}, []string{f.addr()})
	ctx := within(t, 10*time.Second)
	for i := range 6 { // after some more, dials are spaced
		var n int
		require.NoError(t, client.Do(ctx, radix.Cmd(&n, "INCRBY", "k", "1")))
		require.Equal(t, 1, n, "the reply nobody asked for")
		until(t, ctx, "the connection is closed", func() bool {
			return client.Stats().Nodes[0].Pool.Closes[redislanes.CloseProtocol] == uint64(i+1)
		})
	}
}

// TestRedirectsToEverNewAddresses: what a server makes the client remember and
// run for them must have an end.
func TestRedirectsToEverNewAddresses(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	asked, port := false, 1000
	f.slots = func() string {
		if asked {
			return "-ERR not again\r\n"
		}
		asked = true
		return slotMap(f.addr())
	}
	f.answer = func(w io.Writer, _ []string) bool {
		port++
		_, err := fmt.Fprintf(w, "-ASK %s 127.0.0.1:%d\r\n", evilSlot, port%20_000)
		return err == nil
	}
	f.start()
	client := open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1, Pool: pool.Laned{Lanes: 1}}, []string{f.addr()})
	before := runtime.NumGoroutine()
	p := pipeline.New(client)
	for range 1000 {
		p.Reset()
		p.IncrBy(evilKey, 1)
		requireTyped(t, p.Do(within(t, 10*time.Second)))
	}
	t.Logf("%d nodes, %d goroutines more", len(client.Stats().Nodes), runtime.NumGoroutine()-before)
	require.Less(t, len(client.Stats().Nodes), 300)
}

// TestLongErrorText: the server says how long its error is, but not what the
// client spends on it each time that somebody looks at the error.
func TestLongErrorText(t *testing.T) {
	const size = 10 << 20
	f := newFake(t)
	long := say("!" + strconv.Itoa(size) + "\r\n" + strings.Repeat("x", size) + "\r\n")
	f.answer = func(w io.Writer, cmd []string) bool {
		if cmd[0] != "INCRBY" { // on a slow machine the client also asks whether the server is there
			return say("+PONG\r\n")(w, cmd)
		}
		return long(w, cmd)
	}
	f.start()
	client := open(t, cluster.Config{RefreshEvery: -1}, []string{f.addr()})
	p := pipeline.New(client)
	r := p.IncrBy("k", 1)
	requireTyped(t, p.Do(within(t, 10*time.Second)))
	spent := measure(func() { requireTyped(t, r.Err()) })
	t.Logf("%d KiB allocated", spent.allocated>>10)
	require.Less(t, spent.allocated, int64(size/10))
}

// TestHostileGreeting is not parallel: it measures the memory of the process.
func TestHostileGreeting(t *testing.T) {
	for _, command := range []string{"CLIENT", "CLUSTER"} {
		for name, answer := range map[string]func(io.Writer, []string) bool{
			"garbage":                 say("\x00\xff\x16\x03\x01 HTTP/1.1 400 Bad Request\r\n\r\n"),
			"negative bulk":           say("$-5\r\n"),
			"huge bulk":               forever("$99999999999\r\n", "x"),
			"large bulk":              forever("$536870912\r\n", "x"),
			"array without elements":  say("*16000000\r\n"),
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
