package cluster_test

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fake is a server that greets like Redis and answers as a test wants. All
// its connections are closed at the test's end.
type fake struct {
	listener net.Listener
	// slots returns the reply to CLUSTER SLOTS. Nil: all slots are the fake's.
	slots func() string
	// nodes returns the reply to CLUSTER NODES. Nil: the fake does not know it.
	nodes func() string
	// id is the reply to CLUSTER MYID; "": the fake does not know it.
	id string
	// answer writes what follows on any command that is not part of the
	// handshake, and reports whether the connection goes on. Nil: each command
	// gets :1.
	answer func(w io.Writer, cmd []string) bool
	// hijack is a command of the handshake, or CLUSTER, that answer gets, too.
	hijack string
	// all writes the reply to a command and reports whether it has. Nil: it never has.
	all func(w io.Writer, cmd []string) (said bool)

	tasks  sync.WaitGroup
	mu     sync.Mutex // guards what follows
	conns  []net.Conn
	closed bool
}

func newFake(t testing.TB) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fake{listener: l}
	t.Cleanup(f.close)
	return f
}

// start lets the fake, which does not change any more, serve.
func (f *fake) start() {
	f.tasks.Go(func() {
		for {
			conn, err := f.listener.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns = append(f.conns, conn)
			closed := f.closed
			f.mu.Unlock()
			if closed { // accepted in the last moment
				_ = conn.Close()
			}
			f.tasks.Go(func() { f.serve(conn) })
		}
	})
}

// close ends all connections; closing again does nothing.
func (f *fake) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	f.closed = true
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.mu.Unlock()
	f.tasks.Wait()
}

func (f *fake) addr() string { return f.listener.Addr().String() }

func (f *fake) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		cmd, err := readCommand(in)
		if err != nil || !f.reply(conn, cmd) {
			return
		}
	}
}

func (f *fake) reply(w io.Writer, cmd []string) (goOn bool) {
	if f.all != nil && f.all(w, cmd) {
		return true
	}
	reply := ":1\r\n"
	switch name := strings.ToUpper(cmd[0]); {
	case name == f.hijack:
		return f.answer(w, cmd)
	case name == "CLUSTER":
		reply = f.cluster(strings.ToUpper(cmd[1]))
	case name == "ROLE":
		reply = "-ERR unknown command\r\n"
	case name == "CLIENT", name == "AUTH", name == "READONLY", name == "READWRITE":
		reply = "+OK\r\n"
	case name == "PING": // a client may ask whether the node is alive at any moment
		reply = "+PONG\r\n"
	case f.answer != nil:
		return f.answer(w, cmd)
	}
	_, err := io.WriteString(w, reply)
	return err == nil
}

func (f *fake) cluster(sub string) string {
	switch {
	case sub == "SLOTS" && f.slots != nil:
		return f.slots()
	case sub == "SLOTS":
		return slotMap(f.addr())
	case sub == "NODES" && f.nodes != nil:
		return f.nodes()
	case sub == "MYID" && f.id != "":
		return bulk(f.id)
	}
	return "-ERR unknown subcommand\r\n"
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// slotMap is a reply to CLUSTER SLOTS that gives each address as many slots.
func slotMap(addrs ...string) string {
	reply := fmt.Sprintf("*%d\r\n", len(addrs))
	const slots = 16384
	for i, addr := range addrs {
		host, port, _ := net.SplitHostPort(addr)
		reply += fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*3\r\n$%d\r\n%s\r\n:%s\r\n%s",
			i*slots/len(addrs), (i+1)*slots/len(addrs)-1, len(host), host, port, bulk(idOf(addr)))
	}
	return reply
}

// idOf returns the ID of the node at the address. A node is its ID.
func idOf(addr string) string { return fmt.Sprintf("%040x", crc32.ChecksumIEEE([]byte(addr))) }

// noCluster is what a server without cluster mode replies to CLUSTER SLOTS.
const noCluster = "-ERR This instance has cluster support disabled\r\n"

// readCommand reads an array of bulk strings.
func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readHeader(in, '*')
	if err != nil {
		return nil, err
	}
	cmd := make([]string, n)
	for i := range cmd {
		size, err := readHeader(in, '$')
		if err != nil {
			return nil, err
		}
		arg := make([]byte, size+2)
		if _, err := io.ReadFull(in, arg); err != nil {
			return nil, err
		}
		cmd[i] = string(arg[:size])
	}
	return cmd, nil
}

func readHeader(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q instead of %q", line[0], kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
