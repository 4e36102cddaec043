package model

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// A pair is a connection to a real server and a session at the model.
type pair struct {
	w     *twin
	node  int
	conn  net.Conn
	r     *bufio.Reader
	model *Session
}

func newPair(w *twin, node int) *pair {
	conn, err := net.Dial("tcp", w.real.Nodes()[node].Addr())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { conn.Close() })
	return &pair{w, node, conn, bufio.NewReader(conn), w.model.Nodes()[node].NewSession(nil)}
}

func (p *pair) close() {
	p.conn.Close()
	p.model.Close()
}

func (p *pair) send(commands ...[][]byte) {
	var b []byte
	for _, args := range commands {
		b = fmt.Appendf(b, "*%d\r\n", len(args))
		for _, arg := range args {
			b = append(fmt.Appendf(b, "$%d\r\n", len(arg)), arg...)
			b = append(b, "\r\n"...)
		}
	}
	_, err := p.conn.Write(b)
	require.NoError(p.w.t, err)
}

// both runs a command at the model and at the real server, and returns their replies.
func (p *pair) both(words ...string) (mine, theirs string) {
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	p.send(args)
	reply, _ := p.model.Do(args)
	return string(reply), string(p.receive())
}

// receive returns one reply of the real server.
func (p *pair) receive() []byte {
	_ = p.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	b, err := readReply(p.r)
	require.NoError(p.w.t, err, "after %q", b)
	return b
}

// offset returns how much of the replication stream the real server has.
func (p *pair) offset() int {
	p.send(p.w.gen.words("INFO replication"))
	_, rest, _ := strings.Cut(string(p.receive()), "master_repl_offset:")
	digits, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.Atoi(digits)
	require.NoError(p.w.t, err)
	return n
}

func readReply(r *bufio.Reader) ([]byte, error) {
	b, err := r.ReadBytes('\n')
	if err != nil {
		return b, err
	}
	n, _ := strconv.Atoi(string(bytes.TrimSpace(b[1:])))
	switch b[0] {
	case '$', '=':
		if n >= 0 {
			body := make([]byte, n+2)
			_, err = io.ReadFull(r, body)
			b = append(b, body...)
		}
		return b, err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return b, nil
	}
	for range n {
		element, err := readReply(r)
		if b = append(b, element...); err != nil {
			return b, err
		}
	}
	return b, nil
}

// differ returns how two replies to a command differ, or nothing if they do not
// or may.
func differ(args [][]byte, mine, theirs []byte) string {
	if bytes.Equal(mine, theirs) {
		return ""
	}
	if mine[0] == '-' || theirs[0] == '-' || mine[0] == '+' || theirs[0] == '+' {
		return "replies differ"
	}
	name := strings.ToLower(string(args[0]))
	if c := lookup(commands, args); c != nil {
		name = c.name
	}
	switch name {
	case "ttl", "pttl", "expiretime", "pexpiretime":
		if near(mine, theirs) {
			return ""
		}
	case "client|id", "dbsize": // expired keys go at different times
		return ""
	case "hello":
		mine, theirs = withoutID(mine), withoutID(theirs)
	case "cluster|nodes":
		mine, theirs = nodeLines(mine), nodeLines(theirs)
	}
	if !bytes.Equal(mine, theirs) {
		return "replies differ"
	}
	return ""
}

// near reports whether two integers are about the same: each side has set ends at
// a slightly different time.
func near(a, b []byte) bool {
	m, okM := parseInt(bytes.TrimSpace(a[1:]))
	n, okN := parseInt(bytes.TrimSpace(b[1:]))
	const tolerance = 3000 // ms
	return okM && okN && m > 0 && n > 0 && max(m-n, n-m) < tolerance
}

func withoutID(b []byte) []byte {
	before, after, found := bytes.Cut(b, []byte("$2\r\nid\r\n"))
	if !found {
		return b
	}
	_, after, _ = bytes.Cut(after, []byte("\r\n"))
	return slices.Concat(before, after)
}

// nodeLines is CLUSTER NODES without its times and the ports of the bus.
func nodeLines(b []byte) []byte {
	var lines []string
	_, text, _ := strings.Cut(string(b), "\r\n")
	for line := range strings.Lines(strings.TrimPrefix(text, "txt:")) {
		fields := strings.Fields(line)
		const addr, sent, received = 1, 4, 5
		if len(fields) < 8 {
			continue
		}
		fields[addr], _, _ = strings.Cut(fields[addr], "@")
		fields[sent], fields[received] = "", ""
		lines = append(lines, strings.Join(fields, " "))
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "\n"))
}
