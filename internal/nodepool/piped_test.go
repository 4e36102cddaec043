package nodepool

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// piped is a server behind pipes, for virtual time. It answers with OK every command but the one
// that it does not know.
type piped struct {
	unknown string

	mu    sync.Mutex
	conns []net.Conn
	sent  []string // commands
}

func (s *piped) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	s.mu.Lock()
	s.conns = append(s.conns, server)
	s.mu.Unlock()
	go func() {
		defer server.Close()
		in := bufio.NewReader(server)
		for command, err := readCommand(in); err == nil; command, err = readCommand(in) {
			s.mu.Lock()
			s.sent = append(s.sent, command)
			s.mu.Unlock()
			reply := "+OK\r\n"
			if command == s.unknown {
				reply = "-ERR unknown command '" + command + "'\r\n"
			}
			_, _ = io.WriteString(server, reply)
		}
	}()
	return client, nil
}

// cut ends all connections. It returns how many there have been.
func (s *piped) cut() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	return len(s.conns)
}

// commands returns what was sent since it was called last.
func (s *piped) commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
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
		require.Equal(t, 10, p.Stats().Extra)
		for _, c := range all[4:] {
			c.Return()
		}
		time.Sleep(3 * defaultIdleTimeout)
		require.Equal(t, 4, p.Stats().Extra)
		for _, c := range all[:4] {
			c.Return()
		}
		time.Sleep(3 * defaultIdleTimeout)
		require.Zero(t, p.Stats().Extra)
	})
}

// TestRestoreWithOldCredentials: a token may have ended since the connection was dialled, so a connection
// that its user has changed is closed, and nobody tries to log in with that token. A fixed password does
// not end, and the token of a new connection has not ended because that of others has.
func TestRestoreWithOldCredentials(t *testing.T) {
	token := func(context.Context) (string, string, error) { return "me", "token", nil }
	const restored, redialled = "RESET AUTH", "AUTH"
	type use struct {
		held  time.Duration
		sends string
	}
	for name, c := range map[string]struct {
		d    lanes.Dialer
		uses []use
	}{
		"a token":    {lanes.Dialer{Credentials: token}, []use{{time.Second, restored}, {2 * time.Minute, redialled}, {time.Second, restored}}},
		"a password": {lanes.Dialer{Password: "secret"}, []use{{time.Second, restored}, {2 * time.Minute, restored}}},
	} {
		t.Run(name, func(t *testing.T) {
			overPipes(t, Fixed{Size: 1}, c.d, func(t *testing.T, p *Node, s *piped) {
				for _, use := range c.uses {
					conn := dedicateAll(t, p, 1)[0]
					_, err := say(t.Context(), conn, "SELECT 1")
					require.NoError(t, err)
					time.Sleep(use.held)
					s.commands()
					before := p.Stats().Dials
					conn.Return()
					synctest.Wait()
					require.True(t, strings.HasPrefix(strings.Join(s.commands(), " "), use.sends), use)
					require.Equal(t, use.sends == redialled, p.Stats().Dials > before, use)
				}
			})
		})
	}
}
