package model

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestFullNode: members of a cluster count the connections of the others, and say so.
func TestFullNode(t *testing.T) {
	for text, options := range map[string]Options{
		errFullMember: {Primaries: 1}, errMaxClients: {Primaries: 1, NoCluster: true},
	} {
		c := New(options)
		c.Nodes()[0].MaxClients(1)
		_ = c.Nodes()[0].NewSession(nil)
		client, conn := net.Pipe()
		go c.Serve(c.Nodes()[0])(conn)
		said, err := io.ReadAll(client)
		require.NoError(t, err)
		require.Equal(t, "-"+text+"\r\n", string(said))
	}
}

// TestOddMaps: the odd row is in both maps, and the others are what they were.
func TestOddMaps(t *testing.T) {
	c := New(Options{Primaries: 2, Replicas: 1})
	s := c.Nodes()[0].NewSession(nil)
	slots, nodes := do(s, "CLUSTER SLOTS"), do(s, "CLUSTER NODES")
	for o, is := range map[Oddity]string{
		PortZero: ":0\r\n$40\r\n" + oddID, NoHost: "$1\r\n?\r\n", Bracketed: "[fd00::7]", IDN: "knöten.example", NullMetadata: "$-1\r\n", Garbage: "garbage",
	} {
		c.Oddity(o)
		require.Contains(t, do(s, "CLUSTER SLOTS"), is)
		if o != NullMetadata {
			require.Greater(t, strings.Count(do(s, "CLUSTER NODES"), "\n"), strings.Count(nodes, "\n"))
		}
	}
	c.Oddity(NothingOdd)
	require.Equal(t, slots, do(s, "CLUSTER SLOTS"))
}

// TestTokens: an old token is refused, and a connection is closed when the last one that it
// was given has ended.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const life = time.Second
		c := New(Options{Primaries: 1})
		n := c.Nodes()[0]
		n.RequirePass("", "secret", true)
		n.Tokens(life)
		client, conn := net.Pipe()
		go c.Serve(n)(conn)
		auth := func(made time.Time) string {
			_, err := fmt.Fprintf(client, "AUTH %s\r\n", Token("secret", made))
			require.NoError(t, err)
			reply := make([]byte, 5)
			_, err = io.ReadFull(client, reply)
			require.NoError(t, err)
			return string(reply)
		}
		require.Equal(t, "+OK\r\n", auth(time.Now()))
		time.Sleep(life - time.Millisecond)
		require.Equal(t, "+OK\r\n", auth(time.Now()))
		time.Sleep(life - time.Millisecond)
		began := time.Now()
		_, err := client.Read(make([]byte, 1))
		require.Error(t, err)
		require.Equal(t, time.Millisecond, time.Since(began))
		require.Contains(t, do(n.NewSession(nil), "AUTH "+Token("secret", time.Now().Add(-life))), "-WRONGPASS")
		require.Contains(t, do(n.NewSession(nil), "AUTH secret"), "-WRONGPASS")
	})
}
