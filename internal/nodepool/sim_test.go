package nodepool

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/lanes"
)

// The time in these tests is that of a synctest bubble: hours pass in seconds,
// with a real Pool and a server at the other end of net.Pipe.

// simulatedServer answers each command with +OK after the latency, and those of
// the handshake at once. Dials take a millisecond.
func simulatedServer(t *testing.T, latency time.Duration) lanes.Dialer {
	var tasks sync.WaitGroup
	t.Cleanup(tasks.Wait)
	return lanes.Dialer{NetDial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		time.Sleep(time.Millisecond)
		due := make(chan time.Time, 1<<10) // more than are in flight on a lane
		tasks.Go(func() {
			defer close(due)
			for in := bufio.NewReader(server); ; {
				switch name, err := readCommand(in); {
				case err != nil:
					return
				case name == "CLIENT":
					due <- time.Now()
				default:
					due <- time.Now().Add(latency)
				}
			}
		})
		tasks.Go(func() {
			defer server.Close()
			for at := range due {
				time.Sleep(time.Until(at))
				if _, err := io.WriteString(server, "+OK\r\n"); err != nil {
					return
				}
			}
		})
		return client, nil
	}}
}

func readCommand(in *bufio.Reader) (name string, err error) {
	line, err := in.ReadString('\n')
	n, _ := strconv.Atoi(strings.Trim(line, "*\r\n"))
	for i := 0; i < 2*n && err == nil; i++ {
		if line, err = in.ReadString('\n'); i == 1 {
			name = strings.TrimSpace(line)
		}
	}
	return name, err
}

// A world is a pool under a load, in a bubble.
type world struct {
	*Node
	resizes *resizes
	t       *testing.T
	begin   time.Time
	lost    atomic.Int64 // commands that failed
}

func newWorld(t *testing.T, c Config, latency time.Duration) *world {
	log := new(resizes)
	p, err := New(c, simulatedServer(t, latency), "simulated:1", slog.New(log))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return &world{Node: p, resizes: log, t: t, begin: time.Now()}
}

// resizes counts what the log says of the pool's size.
type resizes struct {
	slog.Handler
	grows, shrinks atomic.Int64
}

func (r *resizes) Enabled(context.Context, slog.Level) bool { return true }

func (r *resizes) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(a slog.Attr) bool {
		switch {
		case record.Message != "pool resized" || a.Key != "reason":
		case a.Value.String() == "quiet":
			r.shrinks.Add(1)
		default:
			r.grows.Add(1)
		}
		return true
	})
	return nil
}

// changes returns how often the pool has grown and shrunk.
func (w *world) changes() (grows, shrinks int64) {
	synctest.Wait() // for the log
	return w.resizes.grows.Load(), w.resizes.shrinks.Load()
}

// run lets as many callers as the load says make one request after the other.
// The others look every second whether it is their turn.
func (w *world) run(length time.Duration, most int, load func(at time.Duration) int, request func(caller int) error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), length)
	defer cancel()
	begin := time.Now()
	var callers sync.WaitGroup
	for i := range most {
		callers.Go(func() {
			for ctx.Err() == nil {
				if i >= load(time.Since(begin)) {
					time.Sleep(time.Second)
				} else if request(i) != nil {
					w.lost.Add(1)
				}
			}
		})
	}
	for tick := time.NewTicker(time.Second); ctx.Err() == nil; <-tick.C {
		s := w.figures()
		if s.Target < w.main.Min || s.Target > w.main.Max || s.Open > w.main.Max || s.Dialing > health.MaxDials {
			w.t.Errorf("out of bounds: %+v", s)
		}
	}
	callers.Wait()
	require.Zero(w.t, w.lost.Load())
}

// hold has a connection to itself for a while, and then thinks.
func (w *world) hold(int) error {
	conn, err := w.Dedicate(w.t.Context())
	if err != nil {
		return err
	}
	time.Sleep(time.Second)
	conn.Return()
	time.Sleep(500 * time.Millisecond)
	return nil
}

func (w *world) command(int) error { return w.Do(w.t.Context(), radix.Cmd(nil, "INCR", "k")) }

// always is a load that stays.
func always(n int) func(time.Duration) int { return func(time.Duration) int { return n } }

func every(period, part time.Duration, high, low int) func(time.Duration) int {
	return func(at time.Duration) int {
		if at%period < part {
			return high
		}
		return low
	}
}

// swing is how often a pool grows at most while the load rises from Min to Max:
// each time by a fifth or more.
const swing = 14

// TestLoadsOfAllShapes bounds how often a pool changes its size under each load, in as
// many minutes as show it, and wants it back at Min when the load has gone. The callers are
// more than the connections that they use, as they think between requests.
func TestLoadsOfAllShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		minutes        int
		load           func(at time.Duration) int
		grows, shrinks int64 // at most
	}{
		{"steady", 5, always(20), 4, 0},
		{"one step up and down", 20, every(time.Hour, 10*time.Minute, 60, 3), 3, 1},
		{"steps every five minutes", 20, every(10*time.Minute, 5*time.Minute, 60, 3), 2 * 5, 2},
		{"ramp", 30, func(at time.Duration) int { return int(60 - 60*math.Abs(at.Minutes()/15-1)) }, swing, 4},
		{"bursts closer than the quiet time", 5, every(8*time.Second, time.Second, 40, 1), 5, 0},
		{"bursts farther apart", 10, every(time.Minute, 2*time.Second, 40, 1), 10 * swing, 10},
		{"a wave", 20, func(at time.Duration) int { return 30 + int(28*math.Sin(at.Minutes()/10*2*math.Pi)) }, 2 * swing, 2 * 2},
		{"noise", 5, func(at time.Duration) int { return 15 + rand.New(rand.NewPCG(uint64(at/time.Second), 4)).IntN(30) }, 6, 0},
	} {
		if race.Enabled && c.minutes > 10 {
			continue // the others race for the same
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Adaptive{Min: 4, Max: 50}, time.Millisecond)
				w.run(time.Duration(c.minutes)*time.Minute, 60, c.load, w.hold)
				grows, shrinks := w.changes()
				require.LessOrEqual(t, grows, c.grows)
				require.LessOrEqual(t, shrinks, c.shrinks)
				require.Positive(t, grows)
				w.run(time.Minute, 0, always(0), nil)
				s := w.figures()
				require.Equal(t, []int{4, 4}, []int{s.Target, s.Open}, "back at Min")
				require.EqualValues(t, s.Dials-4, s.Closes["idle"])
			})
		})
	}
}

// TestPingsAreNoLoad: they neither keep a pool large nor make it grow.
func TestPingsAreNoLoad(t *testing.T) {
	t.Parallel()
	often := Options{SuspectAfter: time.Hour, StallTimeout: time.Hour}
	for name, c := range map[string]Config{
		"adaptive": Adaptive{Min: 1, Max: 20, IdleTimeout: time.Minute, Options: often},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c, 20*time.Second) // PINGs, too, are in flight for long
				w.run(time.Second, 15, always(15), w.command)
				grows, _ := w.changes()
				require.Equal(t, 20, w.figures().Target)
				w.run(2*time.Minute, 0, always(0), nil)
				s := w.figures()
				require.Equal(t, []int{1, 1}, []int{s.Target, s.Open})
				again, _ := w.changes()
				require.Equal(t, grows, again)
			})
		})
	}
}

// TestDownIsNoQuietTime: a pool keeps its size while the server is down, since
// the load will be back, and dials no faster than before.
func TestDownIsNoQuietTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var dials atomic.Int64
		d := simulatedServer(t, 100*time.Millisecond)
		dial := d.NetDial
		d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1); down.Load() {
				return nil, fmt.Errorf("dial %s: connection refused", addr)
			}
			return dial(ctx, network, addr)
		}
		p := simulated(t, Adaptive{Min: 2, Max: 30}, d)
		w := &world{Node: p, t: t, begin: time.Now()}
		w.run(5*time.Second, 20, always(20), w.command)
		target := w.figures().Target
		require.GreaterOrEqual(t, target, 20)
		down.Store(true)
		dials.Store(0)
		p.main.mu.Lock()
		members := append([]*member(nil), p.main.members...)
		p.main.mu.Unlock()
		for _, m := range members {
			m.lane.Fail(io.EOF)
		}
		time.Sleep(time.Minute)
		s := w.figures()
		require.True(t, s.Down)
		require.Equal(t, target, s.Target)
		require.Less(t, dials.Load(), int64(60*4), "one dial at a time, with backoff of up to a second")
		down.Store(false)
		time.Sleep(2 * time.Second)
		require.Equal(t, target, w.figures().Open)
		w.run(time.Minute, 0, always(0), nil)
		require.Equal(t, 2, w.figures().Open)
	})
}

// TestResizesAreLogged with their reasons.
func TestResizesAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))
		p, err := New(Adaptive{Min: 2, Max: 30}, simulatedServer(t, 100*time.Millisecond), "simulated:1", logger)
		require.NoError(t, err)
		defer p.Close()
		require.Equal(t, 2, p.figures().Target)
		w := &world{Node: p, t: t, begin: time.Now()}
		w.run(time.Minute, 2, always(2), w.command)
		w.run(time.Second, 3, always(3), w.command)
		w.run(time.Minute, 0, always(0), nil)
		mu.Lock()
		defer mu.Unlock()
		require.Contains(t, log.String(), `level=INFO msg="pool resized" addr=simulated:1 from=2 to=4 reason=waiters saturation=1.5 waiters=1`)
		require.Contains(t, log.String(), `from=4 to=2 reason=quiet saturation=0 waiters=0`)
	})
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
