package fate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOf has the texts of real servers, as Redis 6.2, 7.0 and 8.2, Valkey 8.1 and 9.1 send them.
func TestOf(t *testing.T) {
	t.Parallel()
	const script = " script: b201f910ce1b75088424bf4bff17678eaf744d6d, on @user_script:1."
	for text, want := range map[string]Fate{
		"MOVED 3999 127.0.0.1:6381": Moved,
		"ASK 0 10.0.0.7:1":          Ask,
		"MOVED":                     Moved,
		"moved 1 a:1":               Unlisted,
		"MOVED 1 a:1" + script:      Perhaps,

		"TRYAGAIN Multiple keys request during rehashing of slot":                                      TryAgain,
		"CLUSTERDOWN Hash slot not served":                                                             Unserved,
		"ERR Cluster is not yet configured":                                                            Down,
		"CLUSTERDOWN The cluster is down":                                                              Down,
		"CLUSTERDOWN The cluster is down and only accepts read commands":                               Down,
		"LOADING Redis is loading the dataset in memory":                                               Down,
		"LOADING Valkey is loading the dataset in memory":                                              Down,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":             Down,
		"READONLY You can't write against a read only replica.":                                        ReadOnly,
		"READONLY Can not run script with write flag on readonly replica.":                             ReadOnly,
		"NOREPLICAS Not enough good replicas to write.":                                                NoReplicas,
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":       Busy,
		"BUSY Valkey is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.":    Busy,
		"BUSYKEY Target key name already exists.":                                                      Final,
		"BUSYGROUP Consumer Group name already exists":                                                 Final,
		"ERR max number of clients reached":                                                            NoRoom,
		"ERR max number of clients + cluster connections reached":                                      NoRoom,
		"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)": ReadOnly,
		"UNBLOCKED client unblocked via CLIENT UNBLOCK":                                                Final,
		"UNBLOCKED the stream key no longer exists":                                                    Final,

		"OOM command not allowed when used memory > 'maxmemory'.":                                          Full,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.": Full,
		"MISCONF Errors writing to the AOF file: No space left on device":                                  Full,

		"NOAUTH Authentication required.":                                                 Login,
		"WRONGPASS invalid username-password pair or user is disabled.":                   Login,
		"DENIED Redis is running in protected mode because protected mode is enabled":     Login,
		"NOPROTO unsupported protocol version":                                            Login,
		"NOPERM this user has no permissions to access one of the keys used as arguments": NoPermission,
		"NOPERM User x has no permissions to run the 'expire' command":                    NoPermission,

		"NOSCRIPT No matching script. Please use EVAL.": NoScript,
		"NOSCRIPT": NoScript,
		"CROSSSLOT Keys in request don't hash to the same slot":             Final,
		"WRONGTYPE Operation against a key holding the wrong kind of value": Final,
		"ERR value is not an integer or out of range":                       Final,
		"ERR increment or decrement would overflow":                         Overflow,
		"ERR wrong number of arguments for 'expire' command":                Syntax,
		"ERR syntax error":          Syntax,
		"ERR Unsupported option NX": Syntax,
		"ERR unknown command 'foo', with args beginning with: 'a'":           Unknown,
		"ERR unknown command `foo`, with args beginning with: ":              Unknown,
		"ERR unknown subcommand 'SETINFO'. Try CLIENT HELP.":                 Unknown,
		"ERR Unknown subcommand or wrong number of arguments for 'SETINFO'.": Unknown,
		"ERR This instance has cluster support disabled":                     ClusterDisabled,
		"ERR Cluster is disabled. Use --cluster_mode=yes to enable.":         ClusterDisabled,
		"ERR Cluster mode is not enabled":                                    ClusterDisabled,
		"ERR CLUSTER command, CLUSTER INFO|NODES|SLOTS|KEYSLOT":              Unknown,

		"EXECABORT Transaction discarded because of previous errors.":                              Final,
		"EXECABORT Transaction discarded because of: NOREPLICAS Not enough good replicas to write": NoReplicas,
		"EXECABORT Transaction discarded because of: MOVED 1 a:1":                                  Final,
		"EXECABORT Transaction discarded because of: wrong number of arguments for 'set' command":  Final,

		"READONLY You can't write against a read only replica." + script:                    Perhaps,
		"READONLY You can't write against a read only replica. script: on @user_script:1.":  Perhaps, // Valkey 9
		"NOREPLICAS Not enough good replicas to write. script: f, on @user_function:3.":     Perhaps,
		"WRONGTYPE Operation against a key holding the wrong kind of value" + script:        Perhaps,
		"ERR Script attempted to access a non local key in a cluster node" + script:         Perhaps,
		"ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write": Perhaps,
		"IOERR error or timeout reading to target instance":                                 Perhaps,

		// Proxies, modules and scripts.
		"upstream failure":             Unlisted,
		"no upstream host":             Unlisted,
		"ERR server closed connection": Unlisted,
		"ERR Connection timed out":     Unlisted,
		"ERR":                          Unlisted,
		"ERR ":                         Unlisted,
		"MYERR x":                      Unlisted,
		"no such index":                Unlisted,
		"":                             Unlisted,
		" MOVED 1 a:1":                 Unlisted,
		"unsupported command 'foo'":    Unknown,
		"ERR invalid password":         Login,
	} {
		assert.Equal(t, want, Of([]byte(text)), "%q", text)
	}
}

// TestWhatFollows has a row for each fate: those behind it were decided one by one.
func TestWhatFollows(t *testing.T) {
	t.Parallel()
	type row struct{ mayHaveRun, hopeless, aboutCommand, refused, passes, forDial, unsupported bool }
	for f, want := range map[Fate]row{
		Unlisted:        {mayHaveRun: true, forDial: true},
		Perhaps:         {mayHaveRun: true, forDial: true},
		Final:           {hopeless: true, aboutCommand: true},
		Syntax:          {hopeless: true, aboutCommand: true, unsupported: true},
		Unknown:         {hopeless: true, unsupported: true},
		ClusterDisabled: {hopeless: true, unsupported: true},
		Overflow:        {hopeless: true},
		NoScript:        {forDial: true},
		Login:           {},
		NoPermission:    {},
		Full:            {refused: true, forDial: true},
		Moved:           {refused: true, passes: true, forDial: true},
		Ask:             {refused: true, passes: true, forDial: true},
		Nowhere:         {refused: true, passes: true, forDial: true},
		Itself:          {refused: true, passes: true, forDial: true},
		TryAgain:        {refused: true, passes: true, forDial: true},
		Down:            {refused: true, passes: true, forDial: true},
		Unserved:        {refused: true, passes: true, forDial: true},
		ReadOnly:        {refused: true, passes: true, forDial: true},
		NoReplicas:      {refused: true, passes: true, forDial: true},
		Busy:            {refused: true, passes: true, forDial: true},
		NoRoom:          {refused: true, passes: true, forDial: true},
	} {
		got := row{f.MayHaveRun(), f.Hopeless(), f.AboutCommand(), f.Refused(), f.Passes(), f.PassesForDial(), f.Unsupported()}
		assert.Equal(t, want, got, "fate %d", f)
	}
	assert.EqualValues(t, 22, fates, "a new fate needs a row")
}

// TestPrefixes: one that another one begins with would never be found.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	for i, p := range prefixes {
		assert.NotEmpty(t, p.text)
		if i > 0 {
			assert.False(t, bytes.HasPrefix(p.text, prefixes[i-1].text), "%q begins with %q", p.text, prefixes[i-1].text)
		}
		assert.Equal(t, p.fate, Of(fmt.Append(p.text, "x")), "%q", p.text)
	}
}

func TestOfDoesNotAllocate(t *testing.T) {
	for _, text := range []string{
		"ERR value is not an integer or out of range", "TRYAGAIN x", "CLUSTERDOWN Hash slot not served", "READONLY x", "x",
		"EXECABORT Transaction discarded because of: OOM x", "MOVED 1 a:1",
	} {
		b := []byte(text)
		assert.Zero(t, testing.AllocsPerRun(100, func() { Of(b) }), text)
	}
}

func TestSaysReplica(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"READONLY You can't write against a read only replica.":                                                                                true,
		"READONLY You can't write against a read only replica. script: b201f9, on @user_script:1.":                                             true,
		"ERR Error running script (call to f_b201f9): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.": true,
		"ERR Error running script (call to f_b201f9): @user_script:1: @user_script: 1: -OOM command not allowed":                               false,
		"ERR unknown command 'READONLY', with args":                                                                                            false,
		"ERR value -READONLY x": false,
		"":                      false,
	} {
		assert.Equal(t, want, SaysReplica([]byte(text)), text)
	}
}

func TestPrinted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"WRONGTYPE Operation against a key holding the wrong kind of value": "WRONGTYPE Operation against a key holding the wrong kind of value",
		"ERR value is not an integer or out of range":                       "ERR value is not an integer or out of range",
		"ERR unknown command 'canary', with args beginning with: 'canary' ": "ERR unknown command…",
		"ERR unknown subcommand 'canary'. Try CLIENT HELP.":                 "ERR unknown subcommand…",
		"ERR Unknown node canary":                                           "ERR Unknown node…",
		"NOPERM User bob has no permissions to access the 'canary' key":     "NOPERM …",
		"NOGROUP No such key 'canary' or consumer group 'canary'":           "NOGROUP …",
		"MOVED 1 canary:6379":                                               "MOVED …",
		"ERR a proxy quotes canary":                                         "ERR …",
		"SEARCH_SYNTAX canary":                                              "SEARCH_SYNTAX …",
		"CANARY: no such index":                                             "an unlisted error text",
		"canary: no such index":                                             "an unlisted error text",
		"CANARY\x00 x":                                                      "an unlisted error text",
		"":                                                                  "an unlisted error text",
		"OOM":                                                               "OOM",
		strings.Repeat("C", MaxText) + " more":                              "an unlisted error text",
	} {
		assert.Equal(t, want, Printed(text), "%q", text)
	}
}

func FuzzOf(f *testing.F) {
	for _, text := range []string{"MOVED 1 a:1", "ERR x", "", " ", "EXECABORT Transaction discarded because of: EXECABORT Transaction discarded because of: "} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := Of(text); got >= fates {
			t.Errorf("Of(%q) = %d", text, got)
		}
		if shown := Printed(string(text)); Of([]byte(shown)) != Of(text) && !fromScript(text) && !bytes.HasPrefix(text, []byte("EXECABORT ")) {
			t.Errorf("%q is printed as %q, which means something else", text, shown)
		}
		if got := Of(append(text[:min(len(text), MaxText)], bytes.Repeat([]byte("x"), MaxText)...)); got >= fates {
			t.Errorf("Of(long %q) = %d", text, got)
		}
	})
}
