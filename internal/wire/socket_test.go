//go:build unix

package wire

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// throttle makes the socket accept some bytes of each write only, or none.
func (s *socket) throttle() {
	try := s.try
	r := rand.New(rand.NewPCG(1, 2))
	s.try = func(fd uintptr) bool {
		whole := s.out
		if r.IntN(2) == 0 {
			s.out = s.out[:r.IntN(min(len(s.out), 100)+1)]
		}
		ok := try(fd)
		s.out = whole
		return ok
	}
}

// TestTLSSocketWaitsItsTurn: while something waits for room, what TLS writes waits behind it, even
// if there is room again.
func TestTLSSocketWaitsItsTurn(t *testing.T) {
	received := make(chan string, 1)
	conn, err := net.Dial("tcp", listen(t, func(p *peer) {
		all, _ := io.ReadAll(p.in)
		received <- string(all)
	}))
	require.NoError(t, err)
	defer conn.Close()
	s := &tlsSocket{Conn: conn, socket: newSocket(conn), shared: true}
	try := s.socket.try
	s.socket.try = func(uintptr) bool { return true } // takes nothing
	for _, record := range []string{"abcd", "efgh"} {
		_, err := s.Write([]byte(record))
		require.NoError(t, err)
		s.socket.try = try
	}
	require.NoError(t, s.flush())
	require.NoError(t, conn.Close())
	require.Equal(t, "abcdefgh", <-received)
}

// gatedWrites is a connection whose writes wait.
type gatedWrites struct {
	net.Conn
	begun, gate chan struct{}
}

func (g gatedWrites) Write(p []byte) (int, error) {
	g.begun <- struct{}{}
	<-g.gate
	return g.Conn.Write(p)
}

// What TLS writes while the lane's writer waits for room does not wait, and comes behind.
func TestTLSSocketBehindAWriteThatWaits(t *testing.T) {
	received := make(chan string, 1)
	addr := listen(t, func(p *peer) {
		all, _ := io.ReadAll(p.in)
		received <- string(all)
	})
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	gated := gatedWrites{conn, make(chan struct{}, 2), make(chan struct{})}
	s := &tlsSocket{Conn: gated, socket: newSocket(conn), shared: true}
	raw := s.socket
	try := raw.try
	raw.try = func(uintptr) bool { return true } // takes nothing
	_, err = s.Write([]byte("first, "))
	require.NoError(t, err)
	raw.try = try
	flushed := make(chan error)
	go func() { flushed <- s.flush() }()
	<-gated.begun
	_, err = s.Write([]byte("second"))
	require.NoError(t, err)
	require.True(t, s.full())
	close(gated.gate)
	require.NoError(t, <-flushed)
	require.NoError(t, conn.Close())
	require.Equal(t, "first, second", <-received)
}

// Callers of a lane over TLS get their replies also where the socket takes a part of
// what they write.
func TestTLSWhoseSocketIsFull(t *testing.T) {
	addr, d := scriptedTLS(t, (*peer).echo)
	l := dialWith(t, d, addr, noEvents{})
	require.NotNil(t, l.conn.secure)
	l.conn.secure.socket.throttle()
	var tasks sync.WaitGroup
	for id := range 8 {
		tasks.Go(func() {
			for n := range 100 {
				value := fmt.Sprintf("%d-%0*d", id, 1<<(n%13), n)
				b := newTrip([]string{"ECHO", value}, []string{"ECHO", value})
				RoundTrip(within(t, patience), l, b)
				want := fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
				assert.Equal(t, []string{want, want}, b.texts())
			}
		})
	}
	tasks.Wait()
	big := newTrip([]string{"ECHO", string(make([]byte, 5*writePiece))})
	before := l.Progress()
	RoundTrip(within(t, patience), l, big)
	require.False(t, big.Failed())
	require.Greater(t, l.Progress(), before)
	until(t, "all is written", l.idleWriter)
	require.False(t, l.conn.full())
}

// A lane over TLS ends at once, though it waits for room.
func TestTLSEndsWhileItWaitsForRoom(t *testing.T) {
	addr, d := scriptedTLS(t, func(p *peer) { <-t.Context().Done() })
	d.Timeout = 2 * patience
	l, err := Dial(within(t, patience), lanes.Dialer(d), addr)
	require.NoError(t, err)
	b := newTrip([]string{"SET", "k", string(make([]byte, 64<<20))})
	done := start(t.Context(), l, b)
	until(t, "the socket is full", l.conn.full)
	require.NoError(t, l.Close())
	await(t, "the caller", done)
	_, err = b.Reply(0)
	wantOutcome(t, err, redislanes.ErrNotSent) // the command is not whole
	until(t, "the writer is gone", l.idleWriter)
}
