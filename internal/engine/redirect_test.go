package engine

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/redislanes/redislanes/internal/resp"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	const script = " script: b201f910ce1b75088424bf4bff17678eaf744d6d, on @user_script:1."
	for msg, want := range map[string]redirect{
		"MOVED 3999 127.0.0.1:6381":     {moved, 3999, "127.0.0.1:6381", false},
		"ASK 0 10.0.0.7:1":              {ask, 0, "10.0.0.7:1", false},
		"MOVED 16383 h.example:65535":   {moved, 16383, "h.example:65535", false},
		"MOVED 1 :6379":                 {moved, 1, "fd00::1:6379", true},
		"MOVED 1 ?:6379":                {unnamed, 1, "", false},
		"ASK 1 ?:6379":                  {unnamed, 1, "", false},
		"MOVED 1 b\u00fccher.example:1": {moved, 1, "b\u00fccher.example:1", false},
		"MOVED 1 a\u00a0b:6381":         {},
		"MOVED 1 /tmp/socket:6381":      {},
		"ASK 1 ::1:6379":                {ask, 1, "[::1]:6379", false},
		"ASK 1 [fd00::7]:6379":          {ask, 1, "[fd00::7]:6379", false},
		"MOVED 16384 127.0.0.1:6381":    {},
		"MOVED -1 127.0.0.1:6381":       {},
		"MOVED -0 127.0.0.1:6381":       {},
		"MOVED x 127.0.0.1:6381":        {},
		"MOVED 99999999999 127.0.0.1:1": {},
		"MOVED  1 127.0.0.1:6381":       {},
		"MOVED 1 127.0.0.1:6381 x":      {},
		"MOVED 1 127.0.0.1:6381 ":       {},
		"MOVED 1 127.0.0.1 6381":        {},
		"MOVED 1 127.0.0.1":             {},
		"MOVED 1 127.0.0.1:":            {},
		"MOVED 1 127.0.0.1:0":           {unnamed, 1, "", false},
		"MOVED 1 127.0.0.1:65536":       {},
		"MOVED 1 127.0.0.1:-1":          {},
		"MOVED 1 127.0.0.1:6x":          {},
		"MOVED 1 a\nb:6381":             {},
		"MOVED 1 [[]]:6381":             {},
		"MOVED 1":                       {},
		"MOVED":                         {},
		"MOVED1 1 a:1":                  {},
		"moved 1 a:1":                   {},
		"MOVED 1 a:1" + script:          {},
		"":                              {},
		" MOVED 1 a:1":                  {},

		"TRYAGAIN Multiple keys request during rehashing of slot":                          {verdict: tryAgain},
		"CLUSTERDOWN Hash slot not served":                                                 {verdict: unserved},
		"CLUSTERDOWN The cluster is down":                                                  {verdict: down},
		"LOADING Redis is loading the dataset in memory":                                   {verdict: down},
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.": {verdict: down},
		"READONLY You can't write against a read only replica.":                            {verdict: readOnly},
		"NOREPLICAS Not enough good replicas to write.":                                    {verdict: noReplicas},
		"NOSCRIPT No matching script. Please use EVAL.":                                    {verdict: noScript},
		"NOSCRIPT": {verdict: noScript},
		"READONLY You can't write against a read only replica." + script:                         {},
		"NOREPLICAS Not enough good replicas to write." + script:                                 {},
		"NOREPLICAS Not enough good replicas to write. script: f, on @user_function:3.":          {},
		"ERR Script attempted to access a non local key in a cluster node" + script:              {},
		"ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write":      {},
		"CROSSSLOT Keys in request don't hash to the same slot":                                  {},
		"EXECABORT Transaction discarded because of previous errors.":                            {},
		"WRONGTYPE Operation against a key holding the wrong kind of value":                      {},
		"NOAUTH Authentication required.":                                                        {},
		"NOPERM this user has no permissions to access one of the keys used as arguments":        {},
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.": {},
	} {
		want.addr = strings.Replace(want.addr, "fd00::1:", "[fd00::1]:", 1)
		assert.Equal(t, want, classify([]byte(msg), "[fd00::1]:7000"), "%q", msg)
	}
}

func TestClassifyAllocatesForRedirectsOnly(t *testing.T) {
	for _, msg := range []string{
		"ERR value is not an integer or out of range", "TRYAGAIN x", "CLUSTERDOWN Hash slot not served", "READONLY x",
	} {
		b := []byte(msg)
		assert.Zero(t, testing.AllocsPerRun(100, func() { classify(b, "127.0.0.1:7000") }), msg)
	}
}

func TestSaysReadOnly(t *testing.T) {
	t.Parallel()
	for msg, want := range map[string]bool{
		"READONLY You can't write against a read only replica.":                                                                                true,
		"READONLY You can't write against a read only replica. script: b201f9, on @user_script:1.":                                             true,
		"ERR Error running script (call to f_b201f9): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.": true,
		"ERR Error running script (call to f_b201f9): @user_script:1: @user_script: 1: -OOM command not allowed":                               false,
		"ERR unknown command 'READONLY', with args":                                                                                            false,
		"ERR value -READONLY x": false,
		"":                      false,
	} {
		assert.Equal(t, want, saysReadOnly([]byte(msg)), msg)
	}
}

func TestClusterDisabled(t *testing.T) {
	t.Parallel()
	assert.True(t, clusterDisabled([]byte("ERR This instance has cluster support disabled")))
	assert.False(t, clusterDisabled([]byte("ERR unknown command 'CLUSTER'")))
}

func FuzzClassify(f *testing.F) {
	for _, msg := range []string{
		"MOVED 3999 127.0.0.1:6381", "ASK 1 ::1:6379", "MOVED 1 :1", "MOVED 1 ?:1", "TRYAGAIN x", "NOSCRIPT",
		"ERR unknown command 'foo', with args beginning with: 'a'", "ERR unknown subcommand 'it's'. Try X HELP.",
		"ERR can't `x` \"y\" 'z'", "", "ERR \xff\x00\u2028",
	} {
		f.Add([]byte(msg), "10.0.0.1:7000", "argument")
	}
	f.Fuzz(func(t *testing.T, msg []byte, asked, arg string) {
		r := classify(msg, asked)
		if (r.verdict == moved || r.verdict == ask) != (r.addr != "") || r.slot >= SlotCount || r.verdict > unnamed {
			t.Errorf("classify(%q) = %+v", msg, r)
		}
		s := resp.Redact(string(msg))
		if len(s) > 256 || !utf8.ValidString(s) || strings.ContainsAny(s, "\r\n\x00\x7f") {
			t.Errorf("Redact(%q) = %q", msg, s)
		}
		if twice := resp.Redact(s); twice != s {
			t.Errorf("Redact(%q) = %q", s, twice)
		}
		// No argument may come through where a server quotes one.
		hid := resp.Redact("ERR unknown subcommand '" + arg + "'. Try CLIENT HELP.")
		if want := "ERR unknown subcommand '…'. Try CLIENT HELP."; hid != want && (len(arg) < 4000 || !strings.HasPrefix(want, hid)) {
			t.Errorf("argument %q shows in %q", arg, hid)
		}
	})
}
