package model

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWait: WAIT waits for its timeout unless there are enough replicas, also for those that
// come back, and long timeouts do not end at once.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Primaries: 1, Replicas: 1})
		c.ReplicationLag(10 * time.Millisecond)
		s := c.Nodes()[0].NewSession(nil)
		defer func() { s.Close() }()
		took := func(command string) (string, time.Duration) {
			do(s, "INCR n")
			began := time.Now()
			return do(s, command), time.Since(began)
		}
		for command, want := range map[string]time.Duration{
			"WAIT 1 500":                 10 * time.Millisecond,
			"WAIT 1 9223372036854775807": 10 * time.Millisecond,
			"WAIT 2 500":                 500 * time.Millisecond,
			"WAIT 2 5":                   5 * time.Millisecond,
		} {
			reply, d := took(command)
			require.Equal(t, want, d, command)
			if want > 5*time.Millisecond {
				require.Equal(t, ":1\r\n", reply, command)
			}
		}
		c.Nodes()[1].Kill()
		time.AfterFunc(1500*time.Millisecond, func() { c.Nodes()[1].Restart(Start{}) })
		reply, d := took("WAIT 1 0")
		require.Equal(t, ":1\r\n", reply)
		require.Equal(t, 2*time.Second, d)

		c.Nodes()[0].Kill()
		c.Nodes()[0].Restart(Start{Standalone: true})
		s = c.Nodes()[0].NewSession(nil)
		reply, d = took("WAIT 1 500")
		require.Equal(t, ":0\r\n", reply, "a server that has left the cluster has no replicas")
		require.Equal(t, 500*time.Millisecond, d)
		c.Nodes()[0].Kill()
		c.Nodes()[0].Restart(Start{})
		s = c.Nodes()[0].NewSession(nil)

		began := time.Now()
		time.AfterFunc(time.Hour, func() { do(c.Nodes()[0].NewSession(nil), "LPUSH l x") })
		require.Contains(t, do(s, "BLPOP l 9000000000000"), "x")
		require.Equal(t, time.Hour, time.Since(began))
	})
}
