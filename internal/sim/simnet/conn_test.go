package simnet

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDeadlinesAreExact(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network) {
		c, server := pair(t, n)
		n.Impose("", "", Conditions{Latency: 5 * ms})
		for _, d := range []time.Duration{-ms, 0, 1, 7 * ms, time.Hour} {
			require.NoError(t, c.SetReadDeadline(time.Now().Add(d)))
			require.Equal(t, max(d, 0), took(func() {
				_, err := c.Read(make([]byte, 1))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				var timeout net.Error
				require.True(t, errors.As(err, &timeout) && timeout.Timeout())
			}))
		}
		// A deadline that has passed ends a read although there is something.
		write(t, server, "x")
		time.Sleep(5 * ms)
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, c.SetReadDeadline(time.Time{}))
		s, err := read(c, 1)
		require.NoError(t, err)
		require.Equal(t, "x", s)

		// One that is set meanwhile ends a read that goes on.
		time.AfterFunc(3*ms, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
		require.Equal(t, 3*ms, took(func() {
			_, err := c.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}))

		require.NoError(t, c.SetWriteDeadline(time.Now().Add(20*ms)))
		require.Equal(t, 20*ms, took(func() {
			sent, err := c.Write(make([]byte, 2*window))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Equal(t, window, sent)
		}))
	})
}

func TestDials(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		conditions Conditions
		lift       time.Duration // zero: never
		nobody     bool
		patience   time.Duration
		took       time.Duration
		err        error
	}{
		"plain":             {took: 20 * ms},
		"nobody":            {nobody: true, took: 20 * ms, err: syscall.ECONNREFUSED},
		"refused":           {conditions: Conditions{Refuse: true}, took: 20 * ms, err: syscall.ECONNREFUSED},
		"slow":              {conditions: Conditions{SlowDial: second}, took: 1020 * ms},
		"too slow":          {conditions: Conditions{SlowDial: second}, patience: 500 * ms, took: 500 * ms, err: context.DeadlineExceeded},
		"blackhole":         {conditions: Conditions{Blackhole: true}, patience: 5 * second, took: 5 * second, err: context.DeadlineExceeded},
		"unanswered":        {conditions: Conditions{Blackhole: true}, patience: time.Hour, took: 127 * second, err: syscall.ETIMEDOUT},
		"one way":           {conditions: Conditions{Partition: ToClient}, patience: 5 * second, took: 5 * second, err: context.DeadlineExceeded},
		"lifted":            {conditions: Conditions{Partition: Both}, lift: second / 2, took: 1020 * ms},
		"lifted late":       {conditions: Conditions{Blackhole: true}, lift: 3100 * ms, took: 7020 * ms},
		"refused meanwhile": {conditions: Conditions{Refuse: true, SlowDial: second}, lift: second / 2, took: 1020 * ms},
		"stalled":           {conditions: Conditions{Stall: Both}, took: 20 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *Network) {
				if !c.nobody {
					n.Listen("a:1", echo)
				}
				n.Impose("client", "a:1", Conditions{Latency: 10 * ms})
				lift := n.Impose("", "a:1", c.conditions)
				if c.lift > 0 {
					time.AfterFunc(c.lift, lift)
				}
				if c.patience == 0 {
					c.patience = time.Minute
				}
				ctx, began := within(t, c.patience), time.Now()
				conn, err := n.Dialer("client")(ctx, "tcp", "a:1")
				require.Equal(t, c.took, time.Since(began))
				require.ErrorIs(t, err, c.err)
				require.Equal(t, 1, n.Dials("a:1"))
				if err == nil {
					require.Equal(t, 1, n.Open("a:1"))
					require.NoError(t, conn.Close())
					require.Zero(t, n.Open(""))
					n.Close() // or else a stalled server would not learn of it
					synctest.Wait()
				} else {
					require.ErrorContains(t, err, "dial tcp a:1: ")
				}
				require.Zero(t, n.Open(""))
			})
		})
	}
}
