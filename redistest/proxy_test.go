package redistest

import (
	"bufio"
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

	"github.com/redislanes/redislanes/internal/resp"
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

// A talk is a connection to an emulated server, through a proxy that answers one command itself.
type talk struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// talkThrough starts a talk, in which the proxy answers the command with the reply.
func talkThrough(t *testing.T, command, reply string) (*Emulated, *talk) {
	e := StartEmulated(t, 1)
	p := StartProxy(t, e.Addrs()[0])
	p.Inject(func(c []string) string {
		if strings.Join(c, " ") == command {
			return reply
		}
		return ""
	})
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return e, &talk{t, c, bufio.NewReader(c)}
}

// say sends commands in one write.
func (k *talk) say(commands ...string) {
	k.t.Helper()
	var request []byte
	for _, command := range commands {
		words := strings.Fields(command)
		request = resp.AppendCommand(request, words[0], words[1:]...)
	}
	_, err := k.conn.Write(request)
	require.NoError(k.t, err)
}

// hears returns the next reply or message.
func (k *talk) hears() string {
	k.t.Helper()
	raw, err := readReply(k.in, nil)
	require.NoError(k.t, err)
	return string(raw)
}

func TestProxyInjects(t *testing.T) {
	_, k := talkThrough(t, "GET mine", "$-5\r\n")
	k.say("SET mine v", "GET mine", "MGET mine")
	got := make([]byte, len("+OK\r\n$-5\r\n*1\r\n$1\r\nv\r\n"))
	_, err := io.ReadFull(k.in, got)
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n$-5\r\n*1\r\n$1\r\nv\r\n", string(got))
}

// TestProxyInjectsUntilSubscribed: behind a SUBSCRIBE a proxy that answers commands passes on what the server
// sends, and its end.
func TestProxyInjectsUntilSubscribed(t *testing.T) {
	e, k := talkThrough(t, "PING", "+MINE\r\n")
	k.say("PING", "SUBSCRIBE x y")
	require.Equal(t, "+MINE\r\n", k.hears())
	require.Equal(t, "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n", k.hears())
	require.Equal(t, "*3\r\n$9\r\nsubscribe\r\n$1\r\ny\r\n:2\r\n", k.hears())
	e.Nodes()[0].Publish("y", "hello")
	require.Equal(t, "*3\r\n$7\r\nmessage\r\n$1\r\ny\r\n$5\r\nhello\r\n", k.hears())
	k.say("PING")
	require.Equal(t, "*2\r\n$4\r\npong\r\n$0\r\n\r\n", k.hears())
	e.Nodes()[0].Close()
	_, err := k.in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestReadReply(t *testing.T) {
	for _, text := range []string{
		"+OK\r\n", ":1\r\n", "-ERR no\r\n", "$-1\r\n", "$0\r\n\r\n", "*-1\r\n", "*2\r\n$1\r\nx\r\n:1\r\n", "*0\r\n",
		"%1\r\n+k\r\n*1\r\n_\r\n", ">2\r\n+a\r\n+b\r\n", "|1\r\n+k\r\n+v\r\n:5\r\n", "=5\r\ntxt:x\r\n", "#t\r\n",
	} {
		got, err := readReply(bufio.NewReader(strings.NewReader(text+"+next\r\n")), nil)
		require.NoError(t, err, text)
		require.Equal(t, text, string(got))
	}
}
