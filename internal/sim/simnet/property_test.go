package simnet

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A sender writes a row of bytes of which each tells its place, and notes when.
type sender struct {
	mu   sync.Mutex
	sent []span
}

// A span is bytes up to a place, which were written from a time on.
type span struct {
	end  int
	from time.Time
}

func octet(place int) byte { return byte(place ^ place>>8 ^ place>>16) }

func (s *sender) send(c net.Conn, r *rand.Rand, size int) error {
	for at := 0; at < size; {
		p := make([]byte, min(1+r.IntN(1<<r.IntN(17)), size-at))
		for i := range p {
			p[i] = octet(at + i)
		}
		s.mu.Lock()
		s.sent = append(s.sent, span{at + len(p), time.Now()})
		s.mu.Unlock()
		n, err := c.Write(p)
		if at += n; err != nil {
			return err
		}
		if r.IntN(4) == 0 {
			time.Sleep(time.Duration(r.IntN(20)) * ms)
		}
	}
	return nil
}

// from returns the earliest time at which the byte can have been written.
func (s *sender) from(place int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sp := range s.sent {
		if place < sp.end {
			return sp.from
		}
	}
	return time.Time{}
}

// receive reads so many bytes, with deadlines that have to be exact.
func (s *sender) receive(c net.Conn, r *rand.Rand, latency time.Duration, size int) error {
	for n := 0; n < size; {
		p, end := make([]byte, 1+r.IntN(1<<r.IntN(17))), time.Time{}
		if r.IntN(2) == 0 {
			end = time.Now().Add(time.Duration(r.IntN(30)) * ms)
		}
		_ = c.SetReadDeadline(end)
		got, err := c.Read(p)
		for i, b := range p[:got] {
			if b != octet(n+i) {
				return fmt.Errorf("byte %d is wrong", n+i)
			}
		}
		if got > 0 {
			if early := latency - time.Since(s.from(n+got-1)); early > 0 {
				return fmt.Errorf("byte %d came %v too early", n, early)
			}
		}
		n += got
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !time.Now().Equal(end) {
				return fmt.Errorf("a deadline was kept %v late", time.Since(end))
			}
		case err != nil:
			return fmt.Errorf("after %d of %d bytes: %w", n, size, err)
		}
	}
	return nil
}

// harmless returns conditions under which nothing is lost.
func harmless(r *rand.Rand) Conditions {
	var c Conditions
	for range 1 + r.IntN(2) {
		switch r.IntN(5) {
		case 0:
			c.Latency = time.Duration(r.IntN(50)) * ms
		case 1:
			c.Jitter = time.Duration(1 + r.IntN(int(50*ms)))
		case 2:
			c.Bandwidth = 100_000 << r.IntN(8)
		case 3:
			c.Stall = Way(1 + r.IntN(3))
		case 4:
			c.Partition = Way(1 + r.IntN(3))
		}
	}
	return c
}

// annoy imposes and lifts conditions for a second.
func annoy(n *Network, r *rand.Rand) {
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		lift := n.Impose("", "", harmless(r))
		time.Sleep(time.Duration(r.IntN(50)) * ms)
		if r.IntN(3) > 0 {
			lift()
			time.Sleep(time.Duration(r.IntN(20)) * ms)
			continue
		}
		time.AfterFunc(time.Duration(r.IntN(100))*ms, lift)
	}
}

// Whatever is imposed, bytes arrive in their order and not too early, and all of
// them unless the connection is cut, when both sides learn of it.
func TestBytesInOrder(t *testing.T) {
	seeds := 150
	if testing.Short() {
		seeds = 20
	}
	const latency = 2 * ms
	for seed := range seeds {
		bubble(t, func(t *testing.T, n *Network) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			own := func(of uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), of)) }
			client, server := pair(t, n)
			n.Impose("", "", Conditions{Latency: latency})
			r := own(1)
			fatal := r.IntN(3) == 0
			var tasks sync.WaitGroup
			tasks.Go(func() { annoy(n, own(2)) })
			if fatal {
				time.AfterFunc(time.Duration(r.IntN(1000))*ms, func() { n.Cut("", "", 1) })
			}
			for i, w := range []struct{ from, to net.Conn }{{client, server}, {server, client}} {
				var s sender
				size := r.IntN(1 << (10 + r.IntN(10)))
				check := func(err error) {
					if err != nil && (!fatal || !errors.Is(err, syscall.ECONNRESET)) {
						t.Errorf("way %d: %v", i, err)
					}
				}
				tasks.Go(func() { check(s.send(w.from, own(uint64(10+i)), size)) })
				tasks.Go(func() { check(s.receive(w.to, own(uint64(20+i)), latency, size)) })
			}
			tasks.Wait()
			n.Impose("", "", Conditions{Jitter: 50 * ms})
			var last int
			for range r.IntN(10) {
				more, _ := client.Write(make([]byte, r.IntN(1000)))
				last += more
			}
			require.NoError(t, client.Close())
			_ = server.SetReadDeadline(time.Time{})
			rest, err := io.ReadAll(server)
			if !fatal || !errors.Is(err, syscall.ECONNRESET) {
				require.NoError(t, err)
				require.Len(t, rest, last)
			}
		})
	}
}
