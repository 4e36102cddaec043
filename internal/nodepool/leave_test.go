package nodepool

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// balanced fails the test unless every dial that succeeded is open or was
// counted out.
func balanced(t *testing.T, p *Node) {
	t.Helper()
	s := p.figures()
	closed := uint64(0)
	for _, n := range s.Closes {
		closed += n
	}
	require.Equal(t, s.Dials-s.DialErrors, uint64(s.Open+s.Extra)+closed, "%+v", s)
}

// consistent fails the test unless the pool's lists, states and counts agree.
func consistent(t *testing.T, p *Node) {
	t.Helper()
	balanced(t, p)
	for _, pool := range p.pools() {
		consistentPool(t, pool)
	}
}

func consistentPool(t *testing.T, p *Pool) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var counted control
	chosen := map[bool][]*wire.Lane{}
	for _, m := range p.members {
		require.NotContains(t, []state{dialling, gone}, m.state)
		require.Equal(t, m.state == isIdle, slices.Contains(idleIn(p), m))
		counted.count(m.state, 1)
		if m.state == shared {
			chosen[m.slow] = append(chosen[m.slow], m.lane)
		}
	}
	require.Equal(t, []int{counted.open, counted.inUse}, []int{p.size.open, p.size.inUse})
	if a, ok := p.access.(*sharedAccess); ok {
		for _, l := range a.lineups() {
			set := l.set.Load()
			for i := range set.Len() {
				require.True(t, slices.Contains(chosen[l == &a.slow], set.Lane(i)))
			}
		}
	}
}

// A moody server answers dials and commands by chance.
type moody struct {
	*rand.Rand // guarded by mu
	mu         sync.Mutex
	tasks      sync.WaitGroup
	conns      []net.Conn // guarded by mu; those of the servers' side
}

func (m *moody) chance(one int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.IntN(one) == 0
}

func (m *moody) dial(context.Context, string, string) (net.Conn, error) {
	time.Sleep(time.Millisecond)
	if m.chance(8) {
		return nil, io.ErrUnexpectedEOF
	}
	client, server := net.Pipe()
	m.mu.Lock()
	m.conns = append(m.conns, server)
	m.mu.Unlock()
	m.tasks.Go(func() { m.serve(server) })
	return client, nil
}

// serve answers commands, or only the two of the greeting, until it hangs up.
func (m *moody) serve(conn net.Conn) {
	defer conn.Close()
	last := m.chance(4)
	in := bufio.NewReader(conn)
	for n := 1; ; n++ {
		if _, err := readCommand(in); err != nil || m.chance(100) {
			return
		}
		if _, err := io.WriteString(conn, "+OK\r\n"); err != nil || n == 2 && last {
			return
		}
	}
}

// cut closes one connection.
func (m *moody) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.conns); n > 0 {
		_ = m.conns[m.IntN(n)].Close()
	}
}

// TestConnectionsAreCountedOut lets chance do to a pool what servers, networks
// and users do to it, and does the accounts after each step.
func TestConnectionsAreCountedOut(t *testing.T) {
	for name, kind := range map[string]Config{
		"fixed":    Fixed{Size: 4},
		"adaptive": Adaptive{Min: 1, Max: 6, IdleTimeout: time.Second},
		"laned":    Laned{Lanes: 2, MaxInFlight: 2, MaxDedicated: 3, IdleTimeout: time.Second},
	} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { countOut(t, kind, seed) })
			})
		}
	}
}

func countOut(t *testing.T, kind Config, seed uint64) {
	server := &moody{Rand: rand.New(rand.NewPCG(seed, 1))}
	p, err := New(kind, lanes.Dialer{NetDial: server.dial}, "moody:1", nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var users sync.WaitGroup
	for range 6 {
		users.Go(func() {
			for ctx.Err() == nil {
				short, done := context.WithTimeout(ctx, 50*time.Millisecond)
				use(short, p, server)
				done()
				time.Sleep(time.Millisecond)
			}
		})
	}
	for range 60 {
		time.Sleep(30 * time.Millisecond)
		switch {
		case server.chance(4):
			p.Renew(time.Time{})
		case server.chance(4):
			server.cut()
		}
		consistent(t, p)
	}
	p.Retire()
	consistent(t, p)
	cancel()
	users.Wait()
	synctest.Wait()
	consistent(t, p)
	require.Zero(t, p.figures().Open+p.figures().Extra, "a retired pool that nobody uses has no connection")
	require.NoError(t, p.Close())
	synctest.Wait()
	consistent(t, p)
	server.tasks.Wait()
}

// TestClosedBeforeItJoined: a connection that the server closes between the
// handshake and its registration is counted, too.
func TestClosedBeforeItJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simulated(t, Fixed{Size: 1}, simulatedServer(t, 0))
		synctest.Wait()
		m := &member{pool: p.main}
		lane, err := p.main.dials.connect(t.Context(), m)
		require.NoError(t, err)
		lane.Fail(io.EOF)
		synctest.Wait()
		p.main.mu.Lock()
		p.main.dials.begun++
		p.main.joinLocked(m, lane)
		p.main.mu.Unlock()
		synctest.Wait()
		require.EqualValues(t, 1, p.figures().Closes["server"])
		consistent(t, p)
	})
}

// use does one of the things that users do.
func use(ctx context.Context, p *Node, by *moody) {
	if by.chance(2) {
		_ = p.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		return
	}
	conn, err := p.Dedicate(ctx)
	if err != nil {
		return
	}
	defer conn.Return()
	switch {
	case by.chance(4):
		_ = conn.Do(ctx, radix.Cmd(nil, "SELECT", "3"))
	case by.chance(4):
		_ = conn.Close()
	default:
		_ = conn.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		time.Sleep(5 * time.Millisecond)
	}
}

// TestReturnedAfterRetire: a pool that was retired while a connection was dedicated
// closes it when it comes back, and so does one that was renewed.
func TestReturnedAfterRetire(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*Node)
		reason string
	}{
		"retired": {(*Node).Retire, "client"},
		"renewed": {func(n *Node) { n.Renew(time.Time{}) }, "renewed"},
	} {
		for _, kind := range []Config{Fixed{Size: 1}, Laned{Lanes: 1, MaxDedicated: 1}} {
			t.Run(name+" "+kind.settings().Kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, kind, time.Millisecond)
					conn, err := w.Dedicate(t.Context())
					require.NoError(t, err)
					time.Sleep(2 * renewPause)
					before := w.figures().Closes[c.reason]
					c.end(w.Node)
					synctest.Wait()
					require.NoError(t, conn.Do(t.Context(), radix.Cmd(nil, "INCR", "k")), "its user goes on")
					between := w.figures().Closes[c.reason]
					conn.Return()
					synctest.Wait()
					require.Equal(t, between+1, w.figures().Closes[c.reason], "before it all: %d", before)
					consistent(t, w.Node)
				})
			})
		}
	}
}

// A slowEnd is a connection on which a read ends only when it is let go, although
// the connection was closed.
type slowEnd struct {
	net.Conn
	letGo chan struct{}
}

func (c slowEnd) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		<-c.letGo
	}
	return n, err
}

// TestClosedConnectionIsNotDedicated: a connection that is closed when its user
// returns it, of which the pool has not been told yet, is not given to the one who
// waits; that one gets another.
func TestClosedConnectionIsNotDedicated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		dialer := simulatedServer(t, time.Millisecond)
		pipe := dialer.NetDial
		dialer.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := pipe(ctx, network, addr)
			return slowEnd{conn, letGo}, err
		}
		p := simulated(t, Fixed{Size: 1}, dialer)
		first, err := p.Dedicate(t.Context())
		require.NoError(t, err)
		lane := first.member.lane
		next := make(chan *Dedicated)
		go func() {
			conn, err := p.Dedicate(t.Context())
			assert.NoError(t, err)
			next <- conn
		}()
		synctest.Wait()
		require.Equal(t, 1, p.figures().Waiters)
		time.Sleep(2 * health.Youth)
		lane.Fail(io.EOF)
		first.Return()
		synctest.Wait()
		require.Equal(t, 1, p.figures().Waiters, "a closed connection was given out")
		close(letGo)
		conn := <-next
		require.NoError(t, conn.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		conn.Return()
		consistent(t, p)
	})
}
