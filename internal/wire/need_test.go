package wire

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// TestRefusedSteps: a step of the handshake that the server does not know, or that an ACL
// forbids where it only asks or tells, is done without. Any other refusal fails the dial: for
// now, if the same server may accept the step soon.
func TestRefusedSteps(t *testing.T) {
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
	asks := all(temporary, passes, map[string]outcome{unknown: spared, old: spared, disabled: spared, noRight: spared, diskFull: spared, noAuth: forGood, wrongPass: forGood})
	tells := all([]string{madeUp, "ERR Command is not available: 'CLIENT SETINFO'"}, spared, maps.Clone(asks))
	admits := func(string, []byte, []byte) error { return nil }
	for name, c := range map[string]struct {
		d       lanes.Dialer
		purpose Purpose
		before  int // steps that are accepted
		after   int
		want    map[string]outcome
	}{
		"SETINFO":         {want: tells, after: 1},
		"SETINFO LIB-VER": {want: tells, before: 1},
		"PING":            {d: lanes.Dialer{NoSetInfo: true}, want: asks},
		"ROLE":            {d: lanes.Dialer{NoSetInfo: true}, purpose: Purpose{Role: true}, want: asks},
		"READWRITE":       {d: lanes.Dialer{NoSetInfo: true}, purpose: Purpose{Admits: admits}, after: 1, want: tells},
		"MYID":            {d: lanes.Dialer{NoSetInfo: true}, purpose: Purpose{Admits: admits}, before: 1, want: asks},
		"READONLY": {
			d: lanes.Dialer{NoSetInfo: true}, purpose: Purpose{ReadOnly: true},
			want: all(temporary, passes, map[string]outcome{disabled: spared, unknown: spared, noRight: forGood, noAuth: forGood}),
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
			l, err := DialFor(within(t, patience), c.d, c.purpose, answering(t, replies...))
			if want == spared {
				require.NoError(t, err, "%s: %s", name, text)
				require.NoError(t, l.Close())
				continue
			}
			var refused *redislanes.HandshakeError
			require.ErrorAs(t, err, &refused, "%s: %s", name, text)
			require.Equal(t, want == passes, Passes(refused), "%s: %s", name, text)
			if text == madeUp {
				asksWho := name == "READWRITE" || name == "MYID" || name == "ROLE"
				require.Equal(t, asksWho, strings.Contains(refused.Hint, "Config.NoIdentity"), name)
			}
		}
	}
	require.False(t, Passes(&redislanes.HandshakeError{Hint: hintStranger}))
}

// TestPushesInHandshake: a push between the replies is none of them.
func TestPushesInHandshake(t *testing.T) {
	push := ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"
	admits := func(_ string, mode, id []byte) error {
		require.Equal(t, "+OK\r\n", string(mode))
		require.Equal(t, "$2\r\nid\r\n", string(id))
		return nil
	}
	l, err := DialFor(within(t, patience), lanes.Dialer{NoSetInfo: true}, Purpose{Admits: admits}, answering(t, push+"+OK\r\n", push+push+"$2\r\nid\r\n"))
	require.NoError(t, err)
	require.NoError(t, l.Close())
}
