//go:build unix

package nodepool

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// freezeServer names the server to the process that is to be frozen.
const freezeServer = "REDISLANES_TEST_FREEZE_SERVER"

// frozenFor is more than silentFor, which a server may be silent for.
const frozenFor, silentFor = 1500 * time.Millisecond, time.Second

// TestFrozenProcess freezes a process with a pool that waits for replies, for
// longer than each of the pool's timeouts; the replies come meanwhile. No call
// fails, and nothing is closed.
func TestFrozenProcess(t *testing.T) {
	if addr := os.Getenv(freezeServer); addr != "" {
		countUntilTold(addr)
		return
	}
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	child := exec.CommandContext(within(t, 20*time.Second), os.Args[0], "-test.run=^TestFrozenProcess$")
	child.Env = append(os.Environ(), freezeServer+"="+server.Addrs()[0])
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	told := bufio.NewScanner(out)
	require.True(t, told.Scan())
	require.Equal(t, "counting", told.Text())

	node, ctx := server.Nodes()[0], within(t, 20*time.Second)
	require.NoError(t, node.Do(ctx, nil, "CLIENT", "PAUSE", "100000", "WRITE"))
	<-time.After(100 * time.Millisecond) // for the pool to see that it waits
	require.NoError(t, child.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, node.Do(ctx, nil, "CLIENT", "UNPAUSE"))
	<-time.After(frozenFor)
	require.NoError(t, child.Process.Signal(syscall.SIGCONT))
	_, err = io.WriteString(in, "\n")
	require.NoError(t, err)
	require.True(t, told.Scan())
	require.Equal(t, "failed 0, closed map[]", told.Text())
	require.NoError(t, in.Close())
	_, _ = io.Copy(io.Discard, out)
	require.NoError(t, child.Wait())
}

// submitIncr submits an INCR. finish reads the reply. Until then the reply stays in the socket, unless
// the connection's background reader runs.
func submitIncr(t *testing.T, p *Node) (b *wire.Batch, finish func()) {
	ctx := within(t, 20*time.Second)
	call, b := wire.NewCall(), new(wire.Batch)
	command := resp.AppendCommand(nil, "INCR", "k")
	b.Reset(call, command)
	b.Add(0, len(command))
	call.Begin(1)
	require.True(t, p.Submit(b))
	call.Mine(b)
	call.Flush()
	return b, func() {
		call.Read(ctx)
		require.NoError(t, call.Wait(ctx))
		_, err := b.Reply(0)
		require.NoError(t, err)
	}
}

// unread submits INCRs until the reply to one stays in the socket.
func unread(t *testing.T, p *Node) (m *member, finish func()) {
	until(t, "there is a connection", func() bool { return p.figures().Idle > 0 })
	for {
		b, finish := submitIncr(t, p)
		m := b.Events().(*member)
		until(t, "the reply arrives", func() bool { return m.lane.Unread() || m.lane.InFlight() == 0 })
		ours := time.Now().Add(200 * ms) // the background reader would have read it by then
		until(t, "it is read", func() bool { return m.lane.InFlight() == 0 || time.Now().After(ours) })
		if m.lane.Unread() {
			return m, finish
		}
		finish() // after some of these, the background reader rests
	}
}

// lookLocked looks at the server as if so much time passed meanwhile.
func lookLocked(p *Pool, d time.Duration) {
	every, now := p.health.LookEvery(), time.Now()
	for end := now.Add(d); now.Before(end); now = now.Add(every) {
		p.judgeLocked(now)
	}
}

// TestUnreadReplyIsNoSilence: a busy process may read a reply late. The server is not silent then:
// its bytes wait in the socket.
func TestUnreadReplyIsNoSilence(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	for name, kind := range pausedKinds(silentFor) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, kind, server)
			_, finish := unread(t, p)
			p.main.mu.Lock()
			lookLocked(p.main, 2*silentFor)
			p.main.mu.Unlock()
			finish()
			require.Empty(t, p.figures().Closes)
		})
	}
}

// withSilence opens a pool of one connection, sends an INCR to a server that is paused, and calls f
// under the pool's lock. The reply arrives when f calls arrive, and is read after f has returned.
func withSilence(t *testing.T, f func(m *member, b *wire.Batch, arrive func())) {
	server := servers.StartServer(t, servers.Options{})
	node, ctx := server.Nodes()[0], within(t, 20*time.Second)
	p := open(t, Fixed{Size: 1, Options: Options{PingEvery: -1}}, server)
	m, finish := unread(t, p)
	finish()
	require.NoError(t, node.Do(ctx, nil, "CLIENT", "PAUSE", "100000", "WRITE"))
	b, finish := submitIncr(t, p)
	func() {
		p.main.mu.Lock()
		defer p.main.mu.Unlock()
		f(m, b, func() {
			require.NoError(t, node.Do(ctx, nil, "CLIENT", "UNPAUSE"))
			until(t, "the reply arrives", m.lane.Unread)
		})
	}()
	finish()
}

// TestUnreadReplyEndsDoubt: once a reply waits in its socket, a connection in doubt is in use as
// before. The pool does not give it to another caller.
func TestUnreadReplyEndsDoubt(t *testing.T) {
	t.Parallel()
	withSilence(t, func(m *member, _ *wire.Batch, arrive func()) {
		lookLocked(m.pool, 500*ms)
		require.Equal(t, inDoubt, m.state)
		arrive()
		lookLocked(m.pool, 100*ms)
		require.Equal(t, busy, m.state)
	})
}

// countUntilTold is the process: it counts until its input ends, and for each
// line of it counts on for a while and says how it went.
func countUntilTold(addr string) {
	p, err := New(Laned{Lanes: 2, Options: Options{StallTimeout: silentFor, PauseTimeout: silentFor}},
		lanes.Dialer{}, addr, nil)
	if err != nil {
		panic(err)
	}
	var calls, failed atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for ctx.Err() == nil {
				if p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")) != nil {
					failed.Add(1)
				}
				calls.Add(1)
			}
		})
	}
	countOn := func() {
		for from := calls.Load(); calls.Load() < from+1000; {
			time.Sleep(time.Millisecond)
		}
	}
	countOn()
	fmt.Println("counting")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		countOn()
		s := p.figures()
		fmt.Printf("failed %d, closed %v\n", failed.Load(), s.Closes)
	}
	stop()
	callers.Wait()
	_ = p.Close()
}
