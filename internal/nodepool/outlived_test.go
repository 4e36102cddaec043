package nodepool

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

func closes(conn radix.Conn) error { return conn.Close() }

// cutOff returns a dialer whose dials are lost while there is an outage.
func cutOff(t *testing.T) (d lanes.Dialer, outage *atomic.Bool) {
	d, resume := pausedServer(t)
	t.Cleanup(resume)
	return cutOffFrom(d)
}

func cutOffFrom(d lanes.Dialer) (_ lanes.Dialer, outage *atomic.Bool) {
	outage = new(atomic.Bool)
	dial := d.NetDial
	d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if outage.Load() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, addr)
	}
	return d, outage
}

// TestOutlivedDials: dials that were lost in an outage are given up long after it, and are
// no reason to refuse callers when the only connection is lost, over which the server has
// answered meanwhile: neither those that were given up before, nor the one that is later.
func TestOutlivedDials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, outage := cutOff(t)
		d.Timeout = 2 * time.Second
		p := simulated(t, Fixed{Size: 3, Options: Options{MinBackoff: 100 * time.Millisecond, PingEvery: -1}}, d)
		time.Sleep(time.Second)
		served := make(chan error, 1)
		require.NoError(t, p.Alone(t.Context(), func(conn radix.Conn) error {
			outage.Store(true)
			for range 2 {
				require.NoError(t, p.Alone(t.Context(), closes)) // and is followed by another one
				time.Sleep(time.Millisecond)
			}
			outage.Store(false)
			require.NoError(t, conn.Do(t.Context(), radix.Cmd(nil, "PING")))
			dialErrors(p, 1)
			go func() { served <- p.Do(context.Background(), radix.Cmd(nil, "PING")) }()
			synctest.Wait()
			return closes(conn)
		}))
		require.NoError(t, <-served)
		dialErrors(p, 2)
		require.Zero(t, p.figures().Downs)
	})
}

// dialErrors waits until so many dials have failed.
func dialErrors(p *Node, n uint64) {
	for p.figures().DialErrors < n {
		time.Sleep(100 * time.Microsecond)
	}
}

// TestDialsBesideALostOne: nor is a dial that was lost all that the pool tries until it is
// given up.
func TestDialsBesideALostOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, outage := cutOff(t)
		d.Timeout = 2 * time.Second
		p := simulated(t, Fixed{Size: 2, Options: Options{PingEvery: -1}}, d)
		time.Sleep(time.Second)
		require.NoError(t, p.Alone(t.Context(), func(conn radix.Conn) error {
			outage.Store(true)
			require.NoError(t, p.Alone(t.Context(), closes)) // and is followed by another one
			time.Sleep(3 * time.Second)
			outage.Store(false)
			require.NoError(t, conn.Do(t.Context(), radix.Cmd(nil, "PING")))
			require.EqualValues(t, 1, p.figures().DialErrors)
			require.Equal(t, 1, p.figures().Dialing)
			return closes(conn)
		}))
		began := time.Now()
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
		require.Less(t, time.Since(began), 100*time.Millisecond)
		require.EqualValues(t, 1, p.figures().DialErrors)
	})
}

// TestLostDialIsAllThatIsLeft: nor does the server become suspect, which has answered since,
// while callers wait for a dial that was lost.
func TestLostDialIsAllThatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, resume := pausedServer(t)
		d, outage := cutOffFrom(d)
		d.Timeout = 2 * time.Second
		p := simulated(t, Adaptive{Min: 1, Max: 2, IdleTimeout: 200 * time.Millisecond, Options: Options{PingEvery: -1}}, d)
		time.Sleep(time.Second)
		ended := make(chan error, 1)
		go func() {
			_, err := incr(p, time.Minute)
			ended <- err
		}()
		synctest.Wait()
		outage.Store(true)
		p.Renew(time.Time{}) // the connection leaves when it has answered, and the dial of the next one is lost
		time.Sleep(100 * time.Millisecond)
		outage.Store(false)
		require.Equal(t, 1, p.figures().Dialing)
		resume()
		require.NoError(t, <-ended)
		began := time.Now()
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
		require.Less(t, time.Since(began), 400*time.Millisecond)
		s := p.figures()
		require.Zero(t, s.DialErrors)
		require.Zero(t, s.Downs)
	})
}

// A deaf connection loses PINGs.
type deaf struct{ net.Conn }

func (c deaf) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("PING")) {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// TestOutlivedProof: likewise a new connection whose proof was lost.
func TestOutlivedProof(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, outage := cutOff(t)
		var lossy atomic.Bool
		dial := d.NetDial
		d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err == nil && lossy.Load() {
				conn = deaf{conn}
			}
			return conn, err
		}
		d.Timeout = 100 * time.Millisecond
		o := Options{StallTimeout: time.Second, MinBackoff: 100 * time.Millisecond, PingEvery: -1}
		p := simulated(t, Fixed{Size: 2, Options: o}, d)
		time.Sleep(time.Second)
		served := make(chan error, 1)
		require.NoError(t, p.Alone(t.Context(), func(conn radix.Conn) error {
			outage.Store(true)
			require.NoError(t, p.Alone(t.Context(), closes))
			time.Sleep(50 * time.Millisecond)
			outage.Store(false)
			lossy.Store(true)
			time.Sleep(450 * time.Millisecond)
			lossy.Store(false)
			require.NoError(t, conn.Do(t.Context(), radix.Cmd(nil, "PING")))
			dialErrors(p, 2)
			go func() { served <- p.Do(context.Background(), radix.Cmd(nil, "PING")) }()
			synctest.Wait()
			return closes(conn)
		}))
		require.NoError(t, <-served)
		require.Zero(t, p.figures().Downs)
	})
}

// besideStalled calls use with a pool in which a connection has just stalled beside another
// one, which was answered later, and with the server's hanging up.
func besideStalled(t *testing.T, use func(t *testing.T, p *Node, hangUp func())) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, resume := pausedServer(t)
		defer resume()
		ends := noted(&d)
		o := Options{PauseTimeout: 3 * time.Second, PingEvery: -1, MaxAge: time.Minute}
		p := simulated(t, Adaptive{Min: 1, Max: 2, Options: o}, d)
		time.Sleep(2 * time.Second)
		_, err := incr(p, 100*time.Millisecond)
		require.Error(t, err)
		p.Renew(time.Time{}) // which leaves what is in flight where it is
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
		for p.figures().Closes[redislanes.CloseStalled] == 0 {
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, 1, p.figures().Open)
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
		use(t, p, func() {
			ends()
			synctest.Wait()
		})
	})
}

// TestOutlivedStall: a connection that stalled is not why one ends that was answered later.
func TestOutlivedStall(t *testing.T) {
	besideStalled(t, func(t *testing.T, p *Node, hangUp func()) {
		hangUp()
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")), "is dialled again")
	})
}

// TestRotationBehindAStall: nor does it keep that one from being replaced because of its age.
func TestRotationBehindAStall(t *testing.T) {
	besideStalled(t, func(t *testing.T, p *Node, _ func()) {
		time.Sleep(2 * time.Minute)
		require.NotZero(t, p.figures().Closes[redislanes.CloseAged])
	})
}

// TestFailedDialIsForgotten: a dial that failed while it was wanted is not why a connection
// ends minutes later, when nobody has wanted another one since.
func TestFailedDialIsForgotten(t *testing.T) {
	t.Parallel()
	t.Run("unanswered", func(t *testing.T) {
		failedDial(t, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
	})
	t.Run("refused", func(t *testing.T) {
		failedDial(t, func(context.Context) error { return syscall.ECONNREFUSED })
	})
}

func failedDial(t *testing.T, fails func(context.Context) error) {
	synctest.Test(t, func(t *testing.T) {
		d, resume := pausedServer(t)
		defer resume()
		var failing atomic.Bool
		ends := noted(&d)
		dial := d.NetDial
		d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if failing.Load() {
				return nil, fails(ctx)
			}
			return dial(ctx, network, addr)
		}
		d.Timeout = time.Second
		p := simulated(t, Adaptive{Min: 1, Max: 2, IdleTimeout: time.Second, Options: Options{PingEvery: -1}}, d)
		require.NoError(t, p.Alone(t.Context(), func(radix.Conn) error {
			failing.Store(true)
			_, err := incr(p, 5*time.Second)
			require.Error(t, err, "wants a second connection")
			return nil
		}))
		time.Sleep(time.Minute)
		require.NotZero(t, p.figures().DialErrors)
		failing.Store(false)
		time.Sleep(5 * time.Second) // a question may be out for as long as StallTimeout
		require.NoError(t, p.Down(), "it has answered a question, or never been silent")
		ends()
		synctest.Wait()
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")), "is dialled again")
	})
}
