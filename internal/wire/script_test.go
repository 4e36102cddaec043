package wire

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A peer is the server's side of one connection.
type peer struct {
	net.Conn
	in *bufio.Reader
}

func newPeer(c net.Conn) *peer { return &peer{c, bufio.NewReader(c)} }

// command reads the next command.
func (p *peer) command() ([]string, error) {
	var n int
	if _, err := fmt.Fscanf(p.in, "*%d\r\n", &n); err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		var size int
		if _, err := fmt.Fscanf(p.in, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(p.in, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, nil
}

// take reads n commands.
func (p *peer) take(n int) bool {
	for range n {
		if _, err := p.command(); err != nil {
			return false
		}
	}
	return true
}

// send reports whether the connection is still open.
func (p *peer) send(text string) bool {
	_, err := io.WriteString(p, text)
	return err == nil
}

// handshake answers what the zero Dialer sends.
func (p *peer) handshake() error {
	for range 2 {
		args, err := p.command()
		if err != nil {
			return err
		}
		if args[0] != "CLIENT" {
			return fmt.Errorf("handshake with %q", args)
		}
		p.send("+OK\r\n")
	}
	return nil
}

// echo answers ECHO with its argument and anything else with +OK.
func (p *peer) echo() {
	for {
		args, err := p.command()
		if err != nil {
			return
		}
		reply := []byte("+OK\r\n")
		if strings.EqualFold(args[0], "ECHO") {
			reply = resp.AppendBulk(nil, args[1])
		}
		if _, err := p.Write(reply); err != nil {
			return
		}
	}
}

// listen runs the handler for every connection and returns the address. At the
// test's end it closes all connections and waits for the handlers.
func listen(t testing.TB, handler func(p *peer)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	var open []net.Conn
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			tasks.Go(func() {
				defer conn.Close()
				handler(newPeer(conn))
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		tasks.Wait()
	})
	return ln.Addr().String()
}

// secret returns the settings of a server with a certificate of its own, and those of
// its clients.
func secret(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	return &tls.Config{Certificates: web.TLS.Certificates}, &tls.Config{InsecureSkipVerify: true} // nothing is tried of it
}

// scriptedTLS is scripted over TLS.
func scriptedTLS(t testing.TB, handler func(p *peer)) (string, lanes.Dialer) {
	server, client := secret(t)
	return listen(t, func(p *peer) {
		secure := newPeer(tls.Server(p.Conn, server))
		if secure.handshake() == nil {
			handler(secure)
		}
	}), lanes.Dialer{TLS: client}
}

// scripted is listen for a server that gets the handshake over with.
func scripted(t testing.TB, handler func(p *peer)) string {
	return listen(t, func(p *peer) {
		if p.handshake() == nil {
			handler(p)
		}
	})
}
