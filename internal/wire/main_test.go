package wire

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// until waits for what another goroutine or process brings about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// dial connects to addr and closes the lane when the test ends.
func dial(t testing.TB, addr string) *Lane { return dialWith(t, lanes.Dialer{}, addr, noEvents{}) }

func dialWith(t testing.TB, d lanes.Dialer, addr string, events Events) *Lane {
	t.Helper()
	l, err := DialFor(within(t, patience), d, Purpose{}, addr, Owner{Events: events})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func (l *Lane) role() reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reader
}

func (l *Lane) idleWriter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.writing
}

// quieten sends PINGs until the background reader has retired.
func quieten(t testing.TB, l *Lane) {
	t.Helper()
	until(t, "the background reader retires", func() bool {
		require.NoError(t, l.ping(t))
		return l.role() == nobody
	})
}

func (l *Lane) ping(t testing.TB) error {
	b := newTrip([]string{"PING"})
	RoundTrip(within(t, patience), l, b)
	_, err := b.Reply(0)
	return err
}

// newTrip returns a batch of the commands with a call of its own.
func newTrip(commands ...[]string) *Batch {
	b := new(Batch)
	b.fill(NewCall(), commands...)
	return b
}

func (b *Batch) fill(call *Call, commands ...[]string) {
	var arena []byte
	var ends []int
	for _, c := range commands {
		arena = resp.AppendCommand(arena, c[0], c[1:]...)
		ends = append(ends, len(arena))
	}
	b.Reset(call, arena)
	from := 0
	for _, end := range ends {
		b.Add(from, end)
		from = end
	}
}

// texts returns the replies as they came, and "" for those that are missing.
func (b *Batch) texts() []string {
	all := make([]string, b.Len())
	for i := range all {
		reply, _ := b.Reply(i)
		all[i] = string(reply)
	}
	return all
}

// start sends the batch from a goroutine; the channel is closed at its end.
func start(ctx context.Context, l *Lane, b *Batch) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		RoundTrip(ctx, l, b)
	}()
	return done
}

func await(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		buf := make([]byte, 1<<20)
		t.Fatalf("waited in vain for %s\n%s", what, buf[:runtime.Stack(buf, true)])
	}
}

// counting is Events that count.
type counting struct{ answered, closed atomic.Int32 }

func (c *counting) Answered(*Lane) { c.answered.Add(1) }
func (c *counting) Closed(*Lane)   { c.closed.Add(1) }

// pipeDialer dials one end of a net.Pipe, whose other end the handler has. The
// test waits for the handlers at its end.
func pipeDialer(t testing.TB, handler func(p *peer)) lanes.Dialer {
	var tasks sync.WaitGroup
	t.Cleanup(tasks.Wait)
	return lanes.Dialer{NetDial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		tasks.Go(func() {
			defer server.Close()
			p := newPeer(server)
			if p.handshake() == nil {
				handler(p)
			}
		})
		return client, nil
	}}
}

// dialHidden dials TCP, but the lane does not see that it does.
func dialHidden(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return struct{ net.Conn }{conn}, err
}

// Dial connects for no purpose, and nobody is told of events.
func Dial(ctx context.Context, d lanes.Dialer, addr string) (*Lane, error) {
	return DialFor(ctx, d, Purpose{}, addr, Owner{})
}

// Flush does what callers do for their batches.
func Flush(batches []*Batch) { (&Call{mine: batches}).Flush() }

// enqueue does what a caller does with a batch of its own.
func enqueue(l *Lane, b *Batch, limit int) bool {
	ok, _ := l.Enqueue(b, limit, true)
	return ok
}

// read does what a caller does for one batch of its own.
func (b *Batch) read(ctx context.Context) (late bool) {
	if b.reads {
		b.reads = false
		late = b.lane.readOwn(ctx, b)
	}
	return late
}
