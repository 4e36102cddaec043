package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// answering is a server that gives the replies one by one and then echoes.
func answering(t testing.TB, replies ...string) string {
	return listen(t, func(p *peer) {
		for _, reply := range replies {
			if _, err := p.command(); err != nil {
				return
			}
			p.send(reply)
		}
		p.echo()
	})
}

func TestHandshakeWithAnOldServer(t *testing.T) {
	const unknown = "-ERR unknown subcommand or wrong number of arguments for 'SETINFO'\r\n"
	l, err := DialFor(within(t, patience), lanes.Dialer{}, Purpose{}, answering(t, unknown, unknown), Owner{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	require.NoError(t, l.ping(t))
}

func TestHandshakeSendsWhatWasAskedFor(t *testing.T) {
	for want, d := range map[string]lanes.Dialer{
		"":                        {},
		"HELLO 3":                 {Protocol: 3},
		"HELLO 3 AUTH default pw": {Protocol: 3, Password: "pw"},
		"HELLO 3 AUTH me pw":      {Protocol: 3, Username: "me", Password: "pw"},
		"HELLO 3 AUTH me":         {Protocol: 3, Username: "me"}, // of Credentials; without it, the default user was logged in
		"AUTH me":                 {Username: "me"},
		"AUTH pw":                 {Password: "pw"},
		"AUTH me pw":              {Username: "me", Password: "pw", ClientName: "x"},
	} {
		var got []string
		for _, s := range (dialer{Dialer: WithDefaults(d), Purpose: Purpose{ReadOnly: d.ClientName != ""}}).greetings() {
			got = append(got, strings.TrimSpace(strings.Join(s.command, " ")))
		}
		all := []string{"CLIENT SETINFO LIB-NAME redislanes", "CLIENT SETINFO LIB-VER " + lanes.Version}
		if want != "" {
			all = append([]string{want}, all...)
		}
		if d.ClientName != "" {
			all = append(all, "CLIENT SETNAME x", "READONLY")
		}
		assert.Equal(t, all, got)
	}
}

// TestHandshakeWithoutSetInfo: a proxy that hangs up on commands which it does not know
// is asked for no more than it was asked for, and has to answer all the same.
func TestHandshakeWithoutSetInfo(t *testing.T) {
	for want, d := range map[string]lanes.Dialer{"PING": {NoSetInfo: true}, "AUTH": {NoSetInfo: true, Password: "pw"}} {
		asked := make(chan string, 1)
		addr := listen(t, func(p *peer) {
			command, err := p.command()
			if err != nil {
				return
			}
			asked <- command[0]
			p.send("+OK\r\n")
			p.echo()
		})
		l, err := Dial(within(t, patience), d, addr)
		require.NoError(t, err)
		require.Equal(t, want, <-asked)
		require.NoError(t, l.ping(t))
		require.NoError(t, l.Close())
	}
	addr := listen(t, func(p *peer) {
		p.take(1)
		p.send("+PONG\r\n+unasked\r\n")
	})
	_, err := Dial(within(t, patience), lanes.Dialer{NoSetInfo: true}, addr)
	require.ErrorContains(t, err, "more replies than commands")
}

func TestHandshakeRefusals(t *testing.T) {
	const password = "canary"
	for _, c := range []struct {
		reply, want string
		d           lanes.Dialer
	}{
		{"-WRONGPASS invalid\r\n", `handshake: AUTH: "WRONGPASS …"; correct Dialer.Username and Dialer.Password, or what Dialer.Credentials returns`, lanes.Dialer{Password: password}},
		{"-NOPROTO sorry\r\n", `handshake: HELLO: "NOPROTO …"`, lanes.Dialer{Protocol: 3}},
		{"!7\r\nERR a\r\n\r\n", `handshake: HELLO: "ERR …"`, lanes.Dialer{Protocol: 3}},
		{"-ERR max number of clients reached\r\n", `handshake: "ERR max number of clients reached"`, lanes.Dialer{Password: "max"}},
		{"-ERR canary is wrong\r\n", `handshake: AUTH: "ERR …"`, lanes.Dialer{Password: password}},
		// What Redis 5 and 7 say if they do not know a command; the second is cut off.
		{"-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `canary`, \r\n",
			`handshake: HELLO: "ERR unknown command…"`, lanes.Dialer{Protocol: 3, Password: password}},
		{"-ERR unknown command 'AUTH', with args beginning with: 'cana\r\n",
			`handshake: AUTH: "ERR unknown command…"`, lanes.Dialer{Password: password}},
	} {
		addr := answering(t, c.reply)
		_, err := Dial(within(t, patience), c.d, addr)
		require.EqualError(t, err, addr+": "+c.want)
		var refused *redislanes.HandshakeError
		require.ErrorAs(t, err, &refused)
		for _, verb := range []string{"%v", "%+v", "%#v"} {
			require.NotContains(t, fmt.Sprintf(verb, refused), password)
		}
	}
}

// Such servers do not wait for a command.
func TestServerThatRefusesAndHangsUp(t *testing.T) {
	addr := listen(t, func(p *peer) { // all is read, so that the reply is not lost in a reset
		p.take(2)
		p.send("-ERR max number of clients reached\r\n")
	})
	_, err := Dial(within(t, patience), lanes.Dialer{}, addr)
	require.ErrorContains(t, err, "max number of clients reached")
	var refused *redislanes.HandshakeError
	require.ErrorAs(t, err, &refused)
}

func TestHandshakeGarbage(t *testing.T) {
	for _, reply := range []string{"HTTP/1.1 400\r\n", "$-7\r\n", "+OK\r\n+OK\r\n+more\r\n", "+OK\r\n+OK\r\n>1\r\n+push\r\n", "+OK\r\n+OK\r\n$9"} {
		addr := listen(t, func(p *peer) {
			p.take(2)
			p.send(reply)
			p.echo()
		})
		_, err := Dial(within(t, patience), lanes.Dialer{}, addr)
		require.ErrorIs(t, err, resp.ErrProtocol, "%q", reply)
	}
}

func TestDialTimeout(t *testing.T) {
	for name, deaf := range map[string]bool{"silent": false, "deaf": true} {
		t.Run(name, func(t *testing.T) {
			for _, cancelled := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					d := lanes.Dialer{Timeout: 3 * time.Second, NetDial: pipeTo(t, deaf)}
					want := context.DeadlineExceeded
					if cancelled {
						d.Timeout, want = time.Hour, context.Canceled
						time.AfterFunc(3*time.Second, cancel)
					}
					defer cancel()
					begin := time.Now()
					_, err := Dial(ctx, d, "pipe:1")
					require.ErrorIs(t, err, want)
					require.ErrorContains(t, err, "pipe:1: handshake: ")
					require.Equal(t, 3*time.Second, time.Since(begin))
				})
			}
		})
	}
}

// pipeTo dials a pipe at whose other end nobody answers, or even reads.
func pipeTo(t *testing.T, deaf bool) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		var task sync.WaitGroup
		if !deaf {
			task.Go(func() { _, _ = io.Copy(io.Discard, server) })
		}
		t.Cleanup(func() {
			_ = server.Close()
			task.Wait()
		})
		return client, nil
	}
}

// TestRefusedGreetings: a greeting of the handshake that the server does not know, or that an ACL
// forbids where it only asks or tells, is done without. Any other refusal fails the dial: for
// now, if the same server may accept the greeting soon.
func TestRefusedGreetings(t *testing.T) {
	const (
		unknown   = "ERR unknown subcommand 'X'. Try CLIENT HELP."
		old       = "ERR Unknown subcommand or wrong number of arguments for 'X'. Try CLIENT HELP."
		disabled  = "ERR This instance has cluster support disabled"
		noRight   = "NOPERM User x has no permissions to run the 'x' command"
		busy      = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
		loading   = "LOADING Redis is loading the dataset in memory"
		stale     = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
		full      = "ERR max number of clients + cluster connections reached"
		diskFull  = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."
		madeUp    = "upstream failure"
		noAuth    = "NOAUTH Authentication required."
		wrongPass = "WRONGPASS invalid username-password pair or user is disabled."
	)
	type outcome string
	const (
		spared  outcome = "spared"
		passes  outcome = "fails for now"
		forGood outcome = "fails for good"
	)
	all := func(texts []string, o outcome, more map[string]outcome) map[string]outcome {
		for _, text := range texts {
			more[text] = o
		}
		return more
	}
	temporary := []string{busy, loading, stale, full, madeUp}
	asks := all([]string{unknown, old, disabled, noRight, diskFull, madeUp, busy, "ERR Command is not available: 'CLIENT SETINFO'"}, spared,
		map[string]outcome{loading: passes, stale: passes, full: passes, noAuth: forGood, wrongPass: forGood})
	admits := func(string, []byte) error { return nil }
	for name, c := range map[string]struct {
		d       lanes.Dialer
		purpose Purpose
		before  int // greetings that are accepted
		after   int
		want    map[string]outcome
	}{
		"SETINFO":                        {want: asks, after: 1},
		"SETINFO LIB-VER":                {want: asks, before: 1},
		"PING":                           {d: lanes.Dialer{NoSetInfo: true}, want: asks},
		"ROLE":                           {d: lanes.Dialer{NoSetInfo: true}, purpose: Purpose{Role: true}, want: asks},
		"MYID":                           {d: lanes.Dialer{NoSetInfo: true}, purpose: Purpose{Admits: admits}, want: asks},
		"READONLY of a pool under radix": {d: lanes.Dialer{NoSetInfo: true}, purpose: Purpose{ReadOnly: true}, want: asks},
		"READONLY": {
			d: lanes.Dialer{NoSetInfo: true}, purpose: Purpose{ReadOnly: true, Admits: admits}, after: 1,
			want: all(temporary, passes, map[string]outcome{disabled: forGood, unknown: forGood, noRight: forGood, noAuth: forGood}),
		},
		"SELECT": {
			d:    lanes.Dialer{NoSetInfo: true, Database: 1},
			want: all(temporary, passes, map[string]outcome{unknown: forGood, "ERR DB index is out of range": forGood, noRight: forGood}),
		},
		"SETNAME": {
			d:    lanes.Dialer{NoSetInfo: true, ClientName: "x"},
			want: all(temporary, passes, map[string]outcome{unknown: forGood, noRight: forGood}),
		},
		"AUTH": {
			d:    lanes.Dialer{NoSetInfo: true, Password: "x"},
			want: all(temporary, passes, map[string]outcome{wrongPass: forGood, unknown: forGood}),
		},
	} {
		for text, want := range c.want {
			var replies []string
			for range c.before {
				replies = append(replies, "+OK\r\n")
			}
			replies = append(replies, "-"+text+"\r\n")
			for range c.after {
				replies = append(replies, "+OK\r\n")
			}
			l, err := DialFor(within(t, patience), c.d, c.purpose, answering(t, replies...), Owner{})
			if want == spared {
				require.NoError(t, err, "%s: %s", name, text)
				require.NoError(t, l.Close())
				continue
			}
			var refused *redislanes.HandshakeError
			require.ErrorAs(t, err, &refused, "%s: %s", name, text)
			require.Equal(t, want == passes, Passes(refused), "%s: %s", name, text)
		}
	}
	require.False(t, Passes(&redislanes.HandshakeError{Hint: hintStranger}))
}

// TestPushesInHandshake: a push between the replies is none of them.
func TestPushesInHandshake(t *testing.T) {
	push := ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"
	admits := func(_ string, id []byte) error {
		require.Equal(t, "$2\r\nid\r\n", string(id))
		return nil
	}
	l, err := DialFor(within(t, patience), lanes.Dialer{NoSetInfo: true}, Purpose{Admits: admits}, answering(t, push+push+"$2\r\nid\r\n"), Owner{})
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// TestRoleOfAPrimaryWithManyReplicas: its reply to ROLE has a row for each. With more than 64 it
// was taken for something else than a Redis server.
func TestRoleOfAPrimaryWithManyReplicas(t *testing.T) {
	const replicas = 500
	row := "*3\r\n$39\r\n2001:0db8:85a3:0000:0000:8a2e:0370:7334\r\n$5\r\n16379\r\n$15\r\n123456789012345\r\n"
	role := fmt.Sprintf("*3\r\n$6\r\nmaster\r\n:1\r\n*%d\r\n%s", replicas, strings.Repeat(row, replicas))
	var told string
	purpose := Purpose{Role: true, Admits: func(_ string, role []byte) error { told = string(role); return nil }}
	l, err := DialFor(within(t, patience), lanes.Dialer{NoSetInfo: true}, purpose, answering(t, role), Owner{})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Equal(t, role, told)
}
