package nodepool

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestUsage: how a connection comes back after commands and their replies.
func TestUsage(t *testing.T) {
	const ok, bad = "+OK\r\n", "-ERR syntax error\r\n"
	const execAbort = "-EXECABORT Transaction discarded because of previous errors.\r\n"
	open, changed := usage{open: true}, usage{changed: true}
	for _, test := range []struct {
		before  usage
		command string
		reply   string // "": none came
		after   usage
	}{
		{usage{}, "GET k", "$1\r\nv\r\n", usage{}},
		{usage{}, "GET k", bad, usage{}},
		{usage{}, "GET k", "", changed},
		{usage{}, "CLIENT id", ":1\r\n", usage{}},
		{usage{}, "WAIT 0 0", ":0\r\n", usage{}},
		{usage{}, "UNWATCH", ok, usage{}},
		{usage{}, "NOSUCHCOMMAND", bad, changed},
		{usage{}, "CLIENT NOVELTY", ok, changed},
		{usage{}, "SCRIPT debug yes", ok, changed},
		{usage{}, "SELECT 1", bad, changed},
		{usage{}, "ASKING", ok, changed},
		{usage{}, "multi", ok, open},
		{usage{}, "MULTI", bad, open},
		{usage{}, "WATCH k", ok, open},
		{usage{}, "EXEC", bad, usage{}},
		{changed, "RESET", "+RESET\r\n", changed},
		{open, "EXEC", bad, open},
		{open, "UNWATCH", ok, open},
		{open, "GET k", "+QUEUED\r\n", open},
		{open, "SELECT 1", "+QUEUED\r\n", usage{changed: true, open: true}},
		{open, "EXEC", execAbort, open},
		{open, "EXEC", "-MOVED 1 127.0.0.1:7001\r\n", open},
		{open, "EXEC", "*1\r\n:1\r\n", usage{}},
		{open, "EXEC", "*-1\r\n", usage{}},
		{open, "DISCARD", ok, usage{}},
	} {
		var reply []byte
		if test.reply != "" {
			reply = []byte(test.reply)
		}
		words := strings.Fields(test.command)
		got := test.before
		got.note(command.Of(resp.AppendCommand(nil, words[0], words[1:]...)), reply)
		require.Equal(t, test.after, got, "%+v, %s, %q", test.before, test.command, test.reply)
	}
}

// A connState is what a server says of a connection, of what may differ for its next
// user. Watched keys have changed by then, so that flags tell of them.
type connState map[string]string

// connectionState asks the server, over a connection beside, about the one with the id.
func connectionState(ctx context.Context, t *testing.T, beside radix.Conn, id string) connState {
	t.Helper()
	var line string
	p := radix.NewPipeline()
	p.Append(radix.Cmd(nil, "MSET", "a", "1", "b", "1"))
	p.Append(radix.Cmd(&line, "CLIENT", "LIST", "ID", id))
	require.NoError(t, beside.Do(ctx, p))
	s := connState{}
	for field := range strings.FieldsSeq(line) {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "flags", "db", "multi", "sub", "psub", "ssub", "name", "resp", "user", "redir", "lib-name":
			s[name] = value
		}
	}
	if !strings.Contains(s["flags"], "x") {
		delete(s, "multi") // no transaction: Valkey tells 0 instead of -1 after a WATCH
	}
	return s
}

// TestNobodyInherits sends random commands to a real server: what it says of a connection
// that is given out is what it said at first.
func TestNobodyInherits(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	ctx := within(t, 2*time.Minute)
	p, err := New(Fixed{Size: 1}, lanes.Dialer{ClientName: "me", Protocol: 3}, server.Addrs()[0], nil)
	require.NoError(t, err)
	defer p.Close()
	beside, err := radix.Dial(ctx, "tcp", server.Addrs()[0])
	require.NoError(t, err)
	defer beside.Close()
	transactions := []string{
		"MULTI", "EXEC", "DISCARD", "WATCH a", "WATCH a b", "UNWATCH", "INCR a", "GET b", "LPUSH a v",
		"EXEC now", "MULTI now", "WATCH", "UNWATCH a",
	}
	others := []string{
		"DISCARD now", "SELECT 1", "SELECT 0", "SELECT 99", "RESET", "CLIENT SETNAME x", "CLIENT TRACKING ON", "CLIENT TRACKING OFF",
		"CLIENT CACHING YES", "SCRIPT DEBUG NO", "ECHO x", "NOSUCHCOMMAND", "HELLO 3", "HELLO 2", "AUTH x y", "READONLY",
		"CLIENT ID", "CLIENT GETNAME", "EVAL return(redis.call('SELECT',3)) 0", "EVAL return(1) 0", "CLIENT NO-EVICT ON",
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var pristine connState
	var did []string
	last, kept := "", 0
	for range 200 {
		words := transactions
		if random.IntN(3) == 0 {
			words = append(words[:len(words):len(words)], others...)
		}
		c, err := p.Dedicate(ctx)
		require.NoError(t, err)
		id, err := say(ctx, c, "CLIENT ID")
		require.NoError(t, err)
		state := connectionState(ctx, t, beside, strings.Trim(id, ":\r\n"))
		if pristine == nil {
			pristine = state
		}
		require.Equal(t, pristine, state, "%q", did)
		if id == last {
			kept++
		}
		did, last = nil, id
		for range 1 + random.IntN(7) {
			did = append(did, words[random.IntN(len(words))])
			_, _ = say(ctx, c, did[len(did)-1])
			require.NoError(t, ctx.Err(), "%q", did)
		}
		c.Return()
	}
	require.Greater(t, kept, 20)
}

// TestWaitBehindAWait: a command that is sent behind one that waits for data has its reply behind it.
func TestWaitBehindAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(member)
		began := time.Now()
		due := func() time.Duration { return m.quietUntil.Load().Sub(began) }
		m.expectWait(time.Minute, false)
		m.expectWait(0, true)
		require.Equal(t, time.Minute, due())
		m.expectWait(5*time.Second, true)
		require.Equal(t, 65*time.Second, due())
		m.expectWait(0, false)
		require.Zero(t, due(), "the others have ended")
		m.expectWait(command.Endless, false)
		m.expectWait(command.Endless, true)
		require.Greater(t, due(), 200*365*24*time.Hour)
	})
}
