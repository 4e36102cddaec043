package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// A HangUp is a server that accepts each connection, answers the client's first write, which is
// its greeting, and hangs up. Servers that evict clients, and balancers without servers, behave
// like this.
type HangUp struct {
	id       string
	listener net.Listener
	tasks    sync.WaitGroup
	accepted atomic.Int64

	mu     sync.Mutex // guards what follows
	conns  map[net.Conn]bool
	closed bool
}

// LaunchHangUp listens at the address, host:port, which must be free. It replies id to CLUSTER
// MYID. The caller must Close it.
func LaunchHangUp(addr, id string) (*HangUp, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("redistest: %w", err)
	}
	h := &HangUp{id: id, listener: l, conns: make(map[net.Conn]bool)}
	h.tasks.Go(h.accept)
	return h, nil
}

// Addr returns the address that it listens at, host:port.
func (h *HangUp) Addr() string { return h.listener.Addr().String() }

// Accepted returns how many connections were made to it so far.
func (h *HangUp) Accepted() int { return int(h.accepted.Load()) }

// Close stops listening, ends all connections and waits for their goroutines.
func (h *HangUp) Close() error {
	err := h.listener.Close()
	h.mu.Lock()
	h.closed = true
	for c := range h.conns {
		resetConn(c)
	}
	h.mu.Unlock()
	h.tasks.Wait()
	return err
}

func (h *HangUp) accept() {
	for {
		c, err := h.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		h.accepted.Add(1)
		h.mu.Lock()
		if h.conns[c] = true; h.closed {
			resetConn(c)
		}
		h.mu.Unlock()
		h.tasks.Go(func() { h.greet(c) })
	}
}

// greet answers what has arrived with the first command.
func (h *HangUp) greet(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		_, args, err := readCommand(in)
		if err != nil {
			break
		}
		if _, err := c.Write([]byte(h.reply(args))); err != nil || in.Buffered() == 0 {
			break
		}
	}
	_ = c.Close()
	h.mu.Lock()
	delete(h.conns, c)
	h.mu.Unlock()
}

func (h *HangUp) reply(args []string) string {
	if len(args) == 2 && strings.EqualFold(args[0], "CLUSTER") && strings.EqualFold(args[1], "MYID") {
		return fmt.Sprintf("$%d\r\n%s\r\n", len(h.id), h.id)
	}
	return "+OK\r\n"
}
