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

	"github.com/redislanes/redislanes/internal/servers"
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
		s := p.Stats()
		fmt.Printf("failed %d, closed %v\n", failed.Load(), s.Closes)
	}
	stop()
	callers.Wait()
	_ = p.Close()
}
