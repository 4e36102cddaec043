package redistest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// linked returns the two ends of a link through a proxy that has no listener, for virtual time.
func linked(p *Proxy, inject func([]string) string) (client, server net.Conn) {
	client, a := net.Pipe()
	b, server := net.Pipe()
	l := &link{proxy: p, client: a, server: b, ended: make(chan struct{})}
	p.links[l] = true
	go l.run(inject)
	return client, server
}

// TestProxyDelaysAPipelineOnce: a proxy that injects replies delays a pipeline as long as a single
// command.
func TestProxyDelaysAPipelineOnce(t *testing.T) {
	const delay, commands = 20 * time.Millisecond, 500
	for name, mine := range map[string]func(i int) bool{
		"none injected":  func(int) bool { return false },
		"some injected":  func(i int) bool { return i%2 == 0 },
		"all injected":   func(int) bool { return true },
		"first injected": func(i int) bool { return i == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := -1
				inject := func([]string) string {
					if i++; mine(i) {
						return "+MINE\r\n"
					}
					return ""
				}
				p := &Proxy{links: make(map[*link]bool)}
				p.Delay(ToServer, delay)
				p.Delay(ToClient, 2*delay)
				client, server := linked(p, inject)
				defer client.Close()
				defer server.Close()
				go answerAll(server)
				go func() { _, _ = io.WriteString(client, strings.Repeat("*1\r\n$4\r\nPING\r\n", commands)) }()
				began, replies := time.Now(), bufio.NewReader(client)
				for i := range commands {
					want := "+PONG\r\n"
					if mine(i) {
						want = "+MINE\r\n"
					}
					got, err := replies.ReadString('\n')
					require.NoError(t, err)
					require.Equal(t, want, got, i)
				}
				require.Equal(t, 3*delay, time.Since(began))
			})
		})
	}
}

// answerAll answers each command with PONG.
func answerAll(server net.Conn) {
	in := bufio.NewReader(server)
	for {
		if _, _, err := readCommand(in); err != nil {
			return
		}
		if _, err := io.WriteString(server, "+PONG\r\n"); err != nil {
			return
		}
	}
}

// TestProxyInjectsBesideLongLines: a proxy that injects replies passes long lines on.
func TestProxyInjectsBesideLongLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := linked(&Proxy{links: make(map[*link]bool)}, func([]string) string { return "" })
		defer client.Close()
		defer server.Close()
		want := fmt.Sprintf("-ERR %s\r\n", strings.Repeat("x", 100_000))
		go func() { _, _ = io.WriteString(server, want) }()
		got, err := bufio.NewReader(client).ReadString('\n')
		require.NoError(t, err)
		require.True(t, want == got)
	})
}

// TestProxyThatInjectsEndsWithALink: nothing of a link is left once it was reset. synctest fails if
// a goroutine is.
func TestProxyThatInjectsEndsWithALink(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			p := &Proxy{links: make(map[*link]bool)}
			client, server := linked(p, func([]string) string { return "" })
			go answerAll(server)
			_, err := io.WriteString(client, "*1\r\n$4\r\nPING\r\n")
			require.NoError(t, err)
			_, err = io.ReadFull(client, make([]byte, len("+PONG\r\n")))
			require.NoError(t, err)
			p.Reset()
			_, err = client.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			_ = client.Close()
		})
	}
}
