package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefuse: a command is refused so many times, or until that is lifted, and does not run.
func TestRefuse(t *testing.T) {
	c := New(Options{Primaries: 1})
	n := c.Nodes()[0]
	s := n.NewSession(nil)
	n.Refuse("client|setname", IsBusy, 1)
	n.Refuse("incrby", Unlisted, 0)
	require.Contains(t, do(s, "CLIENT SETNAME x"), "-BUSY")
	require.Equal(t, "+OK\r\n", do(s, "CLIENT SETNAME x"))
	for range 3 {
		require.Equal(t, "-"+string(Unlisted)+"\r\n", do(s, "INCRBY k 1"))
	}
	n.Refuse("incrby", "", 0)
	require.Equal(t, ":1\r\n", do(s, "INCRBY k 1"))

	n.Refuse(Keyed, MasterDown, 0)
	require.Contains(t, do(s, "GET k"), "-MASTERDOWN")
	require.Equal(t, "+PONG\r\n", do(s, "PING"))
	require.Equal(t, "+OK\r\n", do(s, "MULTI"))
	require.Contains(t, do(s, "GET k"), "-MASTERDOWN")
	require.Contains(t, do(s, "EXEC"), "-EXECABORT")
	n.Refuse(Keyed, "", 0)

	n.Busy(true)
	require.Contains(t, do(s, "PING"), "-BUSY")
	require.Equal(t, "+OK\r\n", do(s, "MULTI"), "such commands run while a script does")
	n.Busy(false)
}
