package nodepool

import (
	"context"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
)

func TestSession(t *testing.T) {
	const ok = "+OK\r\n"
	const bad = "-ERR syntax error\r\n"
	const ofAProxy = "-ERR Connection timed out\r\n" // the command may have run
	const execAbort = "-EXECABORT Transaction discarded because of previous errors.\r\n"
	beyondLimits := string(resp.AppendRefusal(nil, resp.TooManyAttributes, resp.Limits{}))
	open, watching, lost := session{multi: true}, session{watches: true}, session{unclean: true}
	for _, test := range []struct {
		before  session
		command string
		reply   string // "": none came
		after   session
	}{
		{session{}, "GET k", "$1\r\nv\r\n", session{}},
		{session{}, "GET k", "_\r\n", session{}},
		{session{}, "GET k", bad, session{}},
		{session{}, "GET k", "", lost},
		{session{}, "GET k", beyondLimits, session{}},
		{watching, "GET k", beyondLimits, watching},
		{session{}, "MULTI", beyondLimits, lost}, // what the server replied is not known
		{session{}, "WATCH k", beyondLimits, lost},
		{session{}, "GET k", ofAProxy, session{}},
		{watching, "GET k", ofAProxy, watching},
		{session{}, "MULTI", ofAProxy, lost},
		{session{}, "WATCH k", ofAProxy, lost},
		{watching, "UNWATCH", ofAProxy, lost},
		{open, "GET k", ofAProxy, lost},
		{open, "EXEC", ofAProxy, lost},
		{watching, "UNWATCH", beyondLimits, lost},
		{open, "GET k", beyondLimits, lost},
		{open, "EXEC", beyondLimits, lost},
		{session{}, "GET k", "+QUEUED\r\n", lost}, // it was not open, as far as we knew
		{session{}, "multi", ok, open},
		{session{}, "MULTI", bad, session{}},
		{session{}, "MULTI", "+QUEUED\r\n", lost},
		{session{}, "WATCH k", ok, watching},
		{session{}, "WATCH k", "-MOVED 1 a:1\r\n", session{}},
		{session{}, "EXEC", bad, session{}},
		{session{}, "EXEC", "*0\r\n", lost},
		{session{}, "DISCARD", ok, lost},
		{session{}, "SELECT 1", ok, lost},
		{session{}, "SELECT 1", bad, lost},
		{session{}, "SCRIPT debug yes", ok, lost},
		{session{}, "CLIENT id", ":1\r\n", session{}},
		{session{}, "CLIENT NOVELTY", ok, lost},
		{session{}, "NOSUCHCOMMAND", ok, lost},
		{watching, "EXEC", bad, watching},
		{watching, "DISCARD", bad, watching},
		{watching, "UNWATCH", ok, session{}},
		{watching, "UNWATCH", bad, watching},
		{watching, "MULTI", ok, session{multi: true, watches: true}},
		{open, "GET k", "+QUEUED\r\n", open},
		{open, "GET k", "|1\r\n+a\r\n:1\r\n+QUEUED\r\n", open}, // with an attribute
		{open, "GET k", "$1\r\nv\r\n", lost},
		{open, "GET k", bad, open},
		{open, "MULTI", bad, open},
		{open, "MULTI", ok, lost},
		{open, "WATCH k", bad, open},
		{open, "WATCH k", ok, lost},
		{open, "UNWATCH", "+QUEUED\r\n", open},
		{open, "UNWATCH", ok, lost},
		{open, "SELECT 1", "+QUEUED\r\n", lost},
		{open, "DISCARD now", bad, lost},
		{open, "DISCARD", ok, session{}},
		{open, "EXEC", "*1\r\n:1\r\n", session{}},
		{open, "EXEC", "*-1\r\n", session{}},
		{open, "EXEC", "_\r\n", session{}},
		{open, "EXEC", execAbort, session{}},
		{session{multi: true, watches: true, forNext: true}, "EXEC", execAbort, session{}},
		{open, "EXEC", "!45\r\nEXECABORT Transaction discarded because of: x\r\n", session{}},
		{open, "EXEC", "-EXECABORTED by somebody\r\n", lost},
		{open, "EXEC", bad, lost}, // which may have discarded it, or not
		{open, "EXEC", "-MOVED 1 a:1\r\n", lost},
		{watching, "EXEC", execAbort, session{}}, // as to EXEC with an argument: the server unwatches all the same
		{open, "GET k", execAbort, open},
		{watching, "GET k", execAbort, watching},
		{open, "EXEC", "", lost},
		{session{multi: true, watches: true}, "EXEC", "*-1\r\n", session{}},
		{session{multi: true, watches: true}, "DISCARD", ok, session{}},
		{session{}, "ASKING", ok, session{forNext: true}},
		{session{forNext: true}, "GET k", bad, session{}},
		{session{forNext: true}, "ASKING", ok, session{forNext: true}},
		{session{forNext: true}, "MULTI", ok, session{multi: true, forNext: true}},
		{session{multi: true, forNext: true}, "GET k", "+QUEUED\r\n", session{multi: true, forNext: true}},
		{session{multi: true, forNext: true}, "EXEC", "*0\r\n", session{}},
		{lost, "RESET", "+RESET\r\n", lost},
		{lost, "UNWATCH", ok, lost},
	} {
		var reply []byte
		if test.reply != "" {
			reply = []byte(test.reply)
		}
		words := strings.Fields(test.command)
		got := test.before.after(command.Of(resp.AppendCommand(nil, words[0], words[1:]...)), answerOf(reply))
		require.Equal(t, test.after, got, "%+v, %s, %q", test.before, test.command, test.reply)
		require.Equal(t, got == session{}, got.clean())
	}
}

// FuzzSession: whatever is sent and replied, an unclean session stays unclean,
// and a command without a reply makes it so.
func FuzzSession(f *testing.F) {
	f.Add([]byte("*1\r\n$5\r\nMULTI\r\n"), []byte("+OK\r\n"), true, false)
	f.Add([]byte("*2\r\n$6\r\nSCRIPT\r\n$5\r\ndebug\r\n"), []byte("|1\r\n+a\r\n+b\r\n+QUEUED\r\n"), false, true)
	f.Fuzz(func(t *testing.T, encoded, reply []byte, multi, watches bool) {
		s, command := session{multi: multi, watches: watches}, command.Of(encoded)
		require.True(t, s.after(command, none).unclean)
		require.True(t, session{unclean: true}.after(command, answerOf(reply)).unclean)
		if next := s.after(command, answerOf(reply)); next.clean() && !s.clean() {
			require.Contains(t, []string{"EXEC", "DISCARD", "UNWATCH"}, command.Name())
		}
	})
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

// TestSessionAgreesWithTheServer sends random commands to a real server: whenever
// the session is clean, the server says that the connection is as it was; and
// after commands of transactions only, whenever the server says so, it is clean.
func TestSessionAgreesWithTheServer(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Fixed{Size: 1}, server)
	ctx := within(t, 2*time.Minute)
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
	kept := 0
	for range 200 {
		words := transactions
		all := random.IntN(3) == 0
		if all {
			words = append(words[:len(words):len(words)], others...)
		}
		c, err := p.Lend(ctx)
		require.NoError(t, err)
		id, err := say(ctx, c, "CLIENT ID")
		require.NoError(t, err)
		id = strings.Trim(id, ":\r\n")
		if pristine == nil {
			pristine = connectionState(ctx, t, beside, id)
		}
		var did []string
		for range 1 + random.IntN(7) {
			did = append(did, words[random.IntN(len(words))])
			_, _ = say(ctx, c, did[len(did)-1])
			require.NoError(t, ctx.Err(), "%q", did)
		}
		state := connectionState(ctx, t, beside, id)
		same := maps.Equal(state, pristine)
		switch {
		case c.session.clean():
			kept++
			require.True(t, same, "%q: %v", did, state)
		case !all:
			require.False(t, same, "%q", did)
		}
		c.Return()
	}
	require.Greater(t, kept, 20)
}
