package wire

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDialAny: a dead address of a name delays the dial by 300 ms, and one that refuses by nothing.
func TestDialAny(t *testing.T) {
	const (
		dead    = "dead"
		refuses = "refuses"
		slow    = "slow"
		lives   = "lives"
	)
	refused := errors.New("connection refused")
	for name, c := range map[string]struct {
		addrs []string
		took  time.Duration
		err   error
	}{
		"one":              {[]string{lives}, 0, nil},
		"one that refuses": {[]string{refuses}, 0, refused},
		"behind a dead":    {[]string{dead, lives}, nextAddress, nil},
		"behind two dead":  {[]string{dead, dead, lives}, 2 * nextAddress, nil},
		"before a dead":    {[]string{lives, dead}, 0, nil},
		"behind refusals":  {[]string{refuses, refuses, lives}, 0, nil},
		"behind both":      {[]string{dead, refuses, lives}, nextAddress, nil},
		"slow":             {[]string{slow, dead}, 2 * nextAddress, nil},
		"slow, then fast":  {[]string{slow, lives}, nextAddress, nil},
		"all refuse":       {[]string{refuses, refuses}, 0, refused},
		"all dead":         {[]string{dead, dead}, time.Second, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var open atomic.Int32
				dial := func(ctx context.Context, addr string) (net.Conn, error) {
					switch addr {
					case dead:
						<-ctx.Done()
						return nil, ctx.Err()
					case refuses:
						return nil, refused
					case slow:
						time.Sleep(2 * nextAddress)
					}
					open.Add(1)
					return countedConn{open: &open}, nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				conn, err := dialAny(ctx, c.addrs, dial)
				require.Equal(t, c.took, time.Since(began))
				require.ErrorIs(t, err, c.err)
				require.Equal(t, c.err == nil, conn != nil)
				time.Sleep(time.Second)
				synctest.Wait()
				if c.err == nil {
					require.EqualValues(t, 1, open.Load(), "the others are closed")
				}
			})
		})
	}
}

// A countedConn counts as open until it is closed.
type countedConn struct {
	net.Conn
	open *atomic.Int32
}

func (c countedConn) Close() error { c.open.Add(-1); return nil }
