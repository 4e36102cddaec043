package nodepool

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// piped is a server behind pipes, for virtual time. It answers every command with OK.
type piped struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (s *piped) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	s.mu.Lock()
	s.conns = append(s.conns, server)
	s.mu.Unlock()
	go func() {
		defer server.Close()
		in := bufio.NewReader(server)
		for _, err := readCommand(in); err == nil; _, err = readCommand(in) {
			_, _ = io.WriteString(server, "+OK\r\n")
		}
	}()
	return client, nil
}

// overPipes plays with a pool in virtual time.
func overPipes(t *testing.T, config Config, d lanes.Dialer, play func(t *testing.T, p *Node, s *piped)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := new(piped)
		d.NetDial, d.NoSetInfo = s.dial, true
		p, err := New(config, d, "pipe:1", nil)
		require.NoError(t, err)
		defer p.Close()
		play(t, p, s)
	})
}

func dedicateAll(t *testing.T, p *Node, n int) (all []*Dedicated) {
	for range n {
		c, err := p.Dedicate(t.Context())
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

// TestIdleDedicatedClose: a laned pool keeps no more dedicated connections than were used in the last
// IdleTimeout, also if that is most of what there were before.
func TestIdleDedicatedClose(t *testing.T) {
	overPipes(t, Laned{SlowLanes: -1}, lanes.Dialer{}, func(t *testing.T, p *Node, _ *piped) {
		all := dedicateAll(t, p, 10)
		require.Equal(t, 10, p.figures().Extra)
		for _, c := range all[4:] {
			c.Return()
		}
		time.Sleep(3 * defaultIdleTimeout)
		require.Equal(t, 4, p.figures().Extra)
		for _, c := range all[:4] {
			c.Return()
		}
		time.Sleep(3 * defaultIdleTimeout)
		require.Zero(t, p.figures().Extra)
	})
}
