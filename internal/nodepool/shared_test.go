package nodepool

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestDoLendsToWhatBlocks: BLMOVE and its like, which radix takes for commands that
// may share a connection, hold up nobody, through Do and through a custom pool.
func TestDoLendsToWhatBlocks(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Laned{Lanes: 1}, server)
	custom, err := Dial(within(t, 10*time.Second), Laned{Lanes: 1}.settings(), lanes.Dialer{}, server.Addrs()[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, custom.Close()) })
	ctx := within(t, 20*time.Second)
	push, add := []string{"RPUSH", "list", "v"}, []string{"ZADD", "zset", "1", "v"}
	for name, client := range map[string]radix.Client{"Do": p, "Dial": custom} {
		for _, test := range []struct{ command, unblock []string }{
			{[]string{"BLMOVE", "list", "to", "LEFT", "RIGHT", "0"}, push},
			{[]string{"BLMPOP", "0", "1", "list", "LEFT"}, push},
			{[]string{"BZMPOP", "0", "1", "zset", "MIN"}, add},
		} {
			t.Run(name+" "+test.command[0], func(t *testing.T) {
				if known, err := server.Nodes()[0].Knows(ctx, test.command[0]); err != nil || !known {
					require.NoError(t, err)
					require.Less(t, server.Major(), 7)
					return
				}
				done := make(chan error, 1)
				go func() { done <- client.Do(ctx, radix.Cmd(nil, test.command[0], test.command[1:]...)) }()
				until(t, "the command blocks", func() bool {
					var info string
					require.NoError(t, p.Do(ctx, radix.Cmd(&info, "INFO", "clients")))
					return strings.Contains(info, "blocked_clients:1\r\n")
				})
				require.NoError(t, client.Do(ctx, radix.Cmd(nil, "GET", "text")), "the only lane answers")
				require.NoError(t, client.Do(ctx, radix.Cmd(nil, test.unblock[0], test.unblock[1:]...)))
				require.NoError(t, <-done)
			})
		}
	}
}

// TestDoRefusesWhatChangesAConnection: what gets no reply, or changes what the
// connection means, is not sent.
func TestDoRefusesWhatChangesAConnection(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	ctx := within(t, 20*time.Second)
	custom, err := Dial(ctx, Laned{Lanes: 1}.settings(), lanes.Dialer{}, server.Addrs()[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, custom.Close()) })
	clients := map[string]radix.Client{"custom": custom}
	for name, kind := range kinds {
		clients[name] = open(t, kind, server)
	}
	for name, client := range clients {
		for _, line := range [][]string{
			{"REPLCONF", "ACK", "0"}, {"REPLCONF", "GETACK", "*"}, {"CLIENT", "NO-EVICT", "on"}, {"CLIENT", "SETNAME", "x"},
			{"ASKING"}, {"SCRIPT", "DEBUG", "YES"}, {"SELECT", "1"}, {"SUBSCRIBE", "c"},
		} {
			short, cancel := context.WithTimeout(ctx, 5*time.Second)
			err := client.Do(short, radix.Cmd(nil, line[0], line[1:]...))
			cancel()
			require.ErrorIs(t, err, redislanes.ErrShared, "%s: %q", name, line)
			var echo string
			require.NoError(t, client.Do(ctx, radix.Cmd(&echo, "ECHO", name)))
			require.Equal(t, name, echo)
		}
	}
}
