package redistest

import (
	"bufio"
	"bytes"
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

func TestProxyInjects(t *testing.T) {
	e := StartEmulated(t, 1)
	p := StartProxy(t, e.Addrs()[0])
	p.Inject(func(command []string) string {
		if command[0] == "GET" && command[1] == "mine" {
			return "$-5\r\n"
		}
		return ""
	})
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "*3\r\n$3\r\nSET\r\n$4\r\nmine\r\n$1\r\nv\r\n*2\r\n$3\r\nGET\r\n$4\r\nmine\r\n*2\r\n$4\r\nMGET\r\n$4\r\nmine\r\n")
	require.NoError(t, err)
	want := "+OK\r\n$-5\r\n*1\r\n$1\r\nv\r\n"
	got := make([]byte, len(want))
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

// TestProxyInjectsBetweenMessages: a proxy that answers commands passes on what the server sends
// without one, and the server's end.
func TestProxyInjectsBetweenMessages(t *testing.T) {
	e := StartEmulated(t, 1)
	p := StartProxy(t, e.Addrs()[0])
	p.Inject(func(command []string) string {
		if command[0] == "PING" {
			return "+MINE\r\n"
		}
		return ""
	})
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	reads := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(c, got)
		require.NoError(t, err, "%q", got)
		require.Equal(t, want, string(got))
	}
	subscribed := func(channel string, n int) string {
		return fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$1\r\n%s\r\n:%d\r\n", channel, n)
	}
	_, err = io.WriteString(c, "*3\r\n$9\r\nSUBSCRIBE\r\n$1\r\nx\r\n$1\r\ny\r\n")
	require.NoError(t, err)
	reads(subscribed("x", 1) + subscribed("y", 2))
	e.Nodes()[0].Publish("y", "hello")
	reads("*3\r\n$7\r\nmessage\r\n$1\r\ny\r\n$5\r\nhello\r\n")
	_, err = io.WriteString(c, "*1\r\n$4\r\nPING\r\n")
	require.NoError(t, err)
	reads("+MINE\r\n")
	e.Nodes()[0].Close()
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

// TestProxyInjectsBehindSubscriptions: over RESP3 the replies to SUBSCRIBE are pushes, and a command has one for
// each of its channels. An injected reply comes behind them.
func TestProxyInjectsBehindSubscriptions(t *testing.T) {
	for protocol, kind := range map[string]string{"2": "*", "3": ">"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			e := StartEmulated(t, 1)
			p := StartProxy(t, e.Addrs()[0])
			p.Inject(func(command []string) string {
				if command[0] == "PING" {
					return "+MINE\r\n"
				}
				return ""
			})
			c, err := net.Dial("tcp", p.Addr())
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
			in := bufio.NewReader(c)
			say := func(text string) {
				_, err := io.WriteString(c, strings.ReplaceAll(text, " ", "\r\n"))
				require.NoError(t, err)
			}
			next := func() string {
				t.Helper()
				raw, err := readReply(in, nil)
				require.NoError(t, err)
				return string(raw)
			}
			say("*2 $5 HELLO $1 " + protocol + " ")
			require.Contains(t, next(), "proto")
			for range 20 { // the confirmations and the injected reply race with each other
				say("*3 $9 SUBSCRIBE $1 x $1 y *1 $4 PING *3 $11 UNSUBSCRIBE $1 x $1 y *1 $4 PING ")
				require.Contains(t, next(), kind+"3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n")
				require.Contains(t, next(), kind+"3\r\n$9\r\nsubscribe\r\n$1\r\ny\r\n")
				require.Equal(t, "+MINE\r\n", next())
				require.Contains(t, next(), "unsubscribe")
				require.Contains(t, next(), "unsubscribe")
				require.Equal(t, "+MINE\r\n", next())
			}
			say("*3 $9 SUBSCRIBE $1 x $1 y *1 $11 UNSUBSCRIBE *1 $4 PING *1 $11 UNSUBSCRIBE *1 $4 PING ")
			for range 4 {
				require.Contains(t, next(), "subscribe")
			}
			require.Equal(t, "+MINE\r\n", next())
			require.Contains(t, next(), "subscribe")
			require.Equal(t, "+MINE\r\n", next())
			say("*1 $5 MULTI *3 $9 SUBSCRIBE $1 x $1 y *1 $7 DISCARD *1 $4 PING ")
			for reply := ""; reply != "+MINE\r\n"; {
				reply = next() // miniredis does not queue SUBSCRIBE, Redis does
			}
			say("*1 $11 UNSUBSCRIBE *1 $4 PING ")
			for reply := ""; reply != "+MINE\r\n"; {
				reply = next()
			}
			say("*2 $9 SUBSCRIBE $1 z ")
			require.Contains(t, next(), "subscribe")
			e.Nodes()[0].Publish("z", "hello")
			require.Contains(t, next(), "hello")
			say("*1 $4 PING ")
			require.Equal(t, "+MINE\r\n", next())
		})
	}
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
	for _, text := range []string{
		"", "$5\r\nxx", "*2\r\n:1\r\n", "$x\r\n", "$-2\r\n", "$2147483647\r\n", "$9223372036854775807\r\n", "%2147483647\r\n", "%4611686018427387904\r\n",
	} {
		_, err := readReply(bufio.NewReader(strings.NewReader(text)), nil)
		require.Error(t, err, text)
	}
}

func TestReadCommand(t *testing.T) {
	raw, args, err := readCommand(bufio.NewReader(strings.NewReader("*2\r\n$3\r\nGET\r\n$0\r\n\r\n")))
	require.NoError(t, err)
	require.Equal(t, "*2\r\n$3\r\nGET\r\n$0\r\n\r\n", string(raw))
	require.Equal(t, []string{"GET", ""}, args)
	for _, size := range []string{"-1", "-2", "2147483647", "4294967297", "9223372036854775807"} {
		_, _, err := readCommand(bufio.NewReader(strings.NewReader("*2\r\n$3\r\nGET\r\n$" + size + "\r\nk\r\n")))
		require.Error(t, err, size)
	}
}
