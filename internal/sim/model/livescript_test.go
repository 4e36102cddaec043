package model

import (
	"bufio"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stage is connections to real servers and to the model that is served over
// TCP, which get the same bytes.
type stage struct {
	*twin
	addrs   []string // of the model's nodes
	conns   map[string][2]*wire
	blocked int
}

type wire struct {
	net.Conn
	r *bufio.Reader
}

func newStage(t *testing.T, server, binary string) *stage {
	s := &stage{twin: newTwin(t, server, binary, 1), conns: make(map[string][2]*wire)}
	for _, n := range s.model.Nodes() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		serve := s.model.Serve(n)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go serve(conn)
			}
		}()
		s.addrs = append(s.addrs, l.Addr().String())
	}
	return s
}

// conn returns the connections of a name, which begins with the node's number.
func (s *stage) conn(name string) [2]*wire {
	if both, ok := s.conns[name]; ok {
		return both
	}
	node, err := strconv.Atoi(name[:1])
	require.NoError(s.t, err)
	var both [2]*wire
	for i, addr := range []string{s.addrs[node], s.real.Nodes()[node].Addr()} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(s.t, err)
		s.t.Cleanup(func() { conn.Close() })
		both[i] = &wire{conn, bufio.NewReader(conn)}
	}
	s.conns[name] = both
	return both
}

func (s *stage) close(name string) {
	for _, c := range s.conn(name) {
		c.Close()
	}
	delete(s.conns, name)
}

// receive compares a reply, or the end of the connection.
func (s *stage) receive(name, after string) {
	var got [2]string
	for i, c := range s.conn(name) {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		reply, err := readReply(c.r)
		if got[i] = string(reply); err != nil {
			got[i] += " and then the end"
			if errors.Is(err, os.ErrDeadlineExceeded) {
				got[i] = "nothing"
			}
		}
	}
	if strings.HasPrefix(after, "HELLO") {
		got[0], got[1] = string(withoutID([]byte(got[0]))), string(withoutID([]byte(got[1])))
	}
	if got[0] != got[1] {
		s.t.Errorf("%s: %s\nmodel: %q\nserver: %q", name, after, got[0], got[1])
	}
}

// play runs a script of a line each: "0a PING" sends a command and compares the
// reply, "0a> PING" only sends it, "0a<" compares a reply, `0a! "*1\r\n"` sends
// bytes, "0a. PING" waits until the client waits, "0a-" hangs up.
func (s *stage) play(script string) {
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		who, text, _ := strings.Cut(line, " ")
		if who == "" {
			continue
		}
		name := strings.TrimRight(who, "<>!.-")
		switch mark := who[len(who)-1]; mark {
		case '<':
			s.receive(name, line)
		case '-':
			s.close(name)
		case '!':
			b, err := strconv.Unquote(text)
			require.NoError(s.t, err)
			s.send(name, []byte(b))
		default:
			s.send(name, encode(strings.Fields(text)))
			switch mark {
			case '.':
				s.waitBlocked(name)
			case '>':
			default:
				s.receive(name, text)
			}
		}
	}
}

func (s *stage) send(name string, b []byte) {
	for _, c := range s.conn(name) {
		_, err := c.Write(b)
		require.NoError(s.t, err)
	}
}

func encode(words []string) (b []byte) {
	b = append(b, "*"+strconv.Itoa(len(words))+"\r\n"...)
	for _, word := range words {
		b = append(b, "$"+strconv.Itoa(len(word))+"\r\n"+word+"\r\n"...)
	}
	return b
}

// waitBlocked waits until one more client waits for an element at the node.
func (s *stage) waitBlocked(name string) {
	node := int(name[0] - '0')
	s.blocked++
	s.awaitBlocked(node)
}

// awaitBlocked waits until as many clients wait at the node as the script says.
func (s *stage) awaitBlocked(node int) {
	n := s.model.Nodes()[node]
	require.Eventually(s.t, func() bool {
		var info string
		require.NoError(s.t, s.real.Nodes()[node].Do(s.ctx, &info, "INFO", "clients"))
		waiting := 0
		n.lock(func(time.Time) { waiting = len(n.blocked) })
		return strings.Contains(info, "\nblocked_clients:"+strconv.Itoa(s.blocked)+"\r") && waiting == s.blocked
	}, 10*time.Second, time.Millisecond)
}

// served is waitBlocked for clients that have gone on.
func (s *stage) served(n int) { s.blocked -= n }
