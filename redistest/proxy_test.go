package redistest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echoServer sends back what it gets.
func echoServer(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); tasks.Wait() })
	return l.Addr().String()
}

func throughProxy(t *testing.T) (*Proxy, net.Conn) {
	p := StartProxy(t, echoServer(t))
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return p, c
}

func echoed(t *testing.T, c net.Conn, text string) time.Duration {
	t.Helper()
	began := time.Now()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	got := make([]byte, len(text))
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	return time.Since(began)
}

func TestProxyPassesAndHangsUp(t *testing.T) {
	p, c := throughProxy(t)
	big := strings.Repeat("x", 1<<20)
	go func() { _, _ = io.WriteString(c, big) }()
	got := make([]byte, len(big))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.True(t, string(got) == big)
	require.Equal(t, 1, p.Dials())
	require.Equal(t, 1, p.Open())
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	_, err = c.Read(got)
	require.ErrorIs(t, err, io.EOF)
}

func TestProxyDelaysAndThrottles(t *testing.T) {
	p, c := throughProxy(t)
	echoed(t, c, "x")
	const delay = 50 * time.Millisecond
	p.Delay(ToServer, delay)
	require.GreaterOrEqual(t, echoed(t, c, "x"), delay)
	p.Delay(ToClient, delay)
	require.GreaterOrEqual(t, echoed(t, c, "x"), 2*delay)
	p.Delay(ToServer, 0)
	p.Delay(ToClient, 0)
	p.Throttle(ToClient, 10_000)
	require.GreaterOrEqual(t, echoed(t, c, strings.Repeat("x", 1000)), 90*time.Millisecond)
}

func TestProxyStalls(t *testing.T) {
	for _, d := range []Direction{ToServer, ToClient} {
		t.Run(d.String(), func(t *testing.T) {
			p, c := throughProxy(t)
			echoed(t, c, "x")
			p.Stall(d)
			p.Stall(d) // again does nothing
			got := make(chan time.Duration)
			go func() { got <- echoed(t, c, "y") }()
			select {
			case <-got:
				t.Fatal("the stall let something pass")
			case <-time.After(20 * time.Millisecond):
			}
			p.Flow(d)
			<-got
			p.Stall(d)
		})
	}
}

func TestProxyCuts(t *testing.T) {
	for _, d := range []Direction{ToServer, ToClient} {
		for n := range 12 {
			t.Run(fmt.Sprint(d, n), func(t *testing.T) {
				p, c := throughProxy(t)
				echoed(t, c, "before")
				cut := p.CutAfter(d, n)
				_, err := io.WriteString(c, "0123456789ab")
				require.NoError(t, err)
				<-cut
				got, err := io.ReadAll(c)
				require.Error(t, err, "the client must get a reset")
				require.True(t, bytes.HasPrefix([]byte("0123456789ab"), got))
				require.LessOrEqual(t, len(got), n)
				again, err := net.Dial("tcp", p.Addr())
				require.NoError(t, err)
				defer again.Close()
				echoed(t, again, "the next connection is none of the cut's business")
			})
		}
	}
}

func TestProxyRefusesAndResets(t *testing.T) {
	p, c := throughProxy(t)
	echoed(t, c, "x")
	p.Reset()
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	p.Refuse(true)
	again, err := net.Dial("tcp", p.Addr())
	if err == nil { // the reset may come first
		defer again.Close()
		_, err = again.Read(make([]byte, 1))
	}
	require.Error(t, err)
}

// TestProxyClosesWhileItDials: Close does not wait for a server that answers no dial.
func TestProxyClosesWhileItDials(t *testing.T) {
	p := StartProxy(t, "127.0.0.1:1")
	began := make(chan struct{})
	p.mu.Lock()
	p.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	p.mu.Unlock()
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer c.Close()
	<-began
	require.NoError(t, p.Close())
}
