package cluster

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	const script = " script: b201f910ce1b75088424bf4bff17678eaf744d6d, on @user_script:1."
	for msg, want := range map[string]redirect{
		"MOVED 3999 127.0.0.1:6381":     {moved, 3999, "127.0.0.1:6381"},
		"ASK 0 10.0.0.7:1":              {ask, 0, "10.0.0.7:1"},
		"MOVED 16383 h.example:65535":   {moved, 16383, "h.example:65535"},
		"MOVED 1 :6379":                 {moved, 1, "fd00::1:6379"},
		"MOVED 1 ?:6379":                {moved, 1, "fd00::1:6379"},
		"ASK 1 ::1:6379":                {ask, 1, "[::1]:6379"},
		"ASK 1 [fd00::7]:6379":          {ask, 1, "[fd00::7]:6379"},
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
		"MOVED 1 127.0.0.1:0":           {},
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
		"CLUSTERDOWN Hash slot not served":                                                 {verdict: down},
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

func TestClusterDisabled(t *testing.T) {
	t.Parallel()
	assert.True(t, clusterDisabled([]byte("ERR This instance has cluster support disabled")))
	assert.False(t, clusterDisabled([]byte("ERR unknown command 'CLUSTER'")))
}

// Texts as redis-server 5 to 7.2 write them; "canary" stands for an argument.
func TestSanitize(t *testing.T) {
	t.Parallel()
	for msg, want := range map[string]string{
		"ERR unknown command 'foo', with args beginning with: 'ca'nary' 'canary' ":       "ERR unknown command 'foo'",
		"ERR unknown command `foo`, with args beginning with: `canary`, ":                "ERR unknown command `foo`",
		"ERR unknown command 'foo canary', with args beginning with: ":                   "ERR unknown command '…'",
		"ERR unknown subcommand 'canary'. Try CLIENT HELP.":                              "ERR unknown subcommand '…'. Try CLIENT HELP.",
		"ERR unknown subcommand 'c'anary'. Try CLIENT HELP.":                             "ERR unknown subcommand '…'. Try CLIENT HELP.",
		"ERR unknown subcommand 'a' canary 'b'. Try CLIENT HELP.":                        "ERR unknown subcommand '…'. Try CLIENT HELP.",
		"ERR unknown subcommand 'a\" canary'. Try \"CLIENT HELP\".":                      "ERR unknown subcommand '…'. Try \"…\".",
		"ERR unknown subcommand 'canary":                                                 "ERR unknown subcommand '…",
		"ERR unknown subcommand or wrong number of arguments for 'canary'. Try X HELP":   "ERR unknown subcommand or wrong number of arguments for '…'. Try X HELP",
		"ERR wrong number of arguments for 'get' command":                                "ERR wrong number of arguments for 'get' command",
		"ERR wrong number of arguments for 'config|get' command":                         "ERR wrong number of arguments for 'config|get' command",
		"NOPERM this user has no permissions to run the 'acl|list' command":              "NOPERM this user has no permissions to run the 'acl|list' command",
		"NOPERM this user has no permissions to run the 'get' command or its subcommand": "NOPERM this user has no permissions to run the 'get' command or its subcommand",
		"NOPERM User bob has no permissions to run the 'get' command":                    "NOPERM User bob has no permissions to run the 'get' command",
		"NOPERM User bob has no permissions to access the 'canary' key":                  "NOPERM User bob has no permissions to access the '…' key",
		"NOPERM User bob has no permissions to access the 'canary' channel":              "NOPERM User bob has no permissions to access the '…' channel",
		"NOPERM this user has no permissions to access one of the keys used":             "NOPERM this user has no permissions to access one of the keys used",
		"NOGROUP No such key 'canary' or consumer group 'canary' in XREADGROUP":          "NOGROUP No such key '…' in XREADGROUP",
		"ERR Error in ACL SETUSER modifier '>canary': Syntax error":                      "ERR Error in ACL SETUSER modifier '…': Syntax error",
		"ERR CONFIG SET failed (possibly related to argument 'canary') - bad":            "ERR CONFIG SET failed (possibly related to argument '…') - bad",
		"ERR Unknown node canary":                                                        "ERR Unknown node …",
		"ERR I don't know about node canary":                                             "ERR I don't know about node …",
		"ERR Invalid node address specified: canary:1":                                   "ERR Invalid node address specified: …",
		"ERR Error compiling script (new function): user_script:1: near 'canary'":        "ERR Error compiling script (new function): user_script:1: near '…'",
		"ERR Error running script (call to f_1): @user_script:1: x\r\ncanary":            "ERR Error running script (call to f_1): @user_script:1: x",
		"ERR user_script:1: boom script: f, on @user_script:1.":                          "ERR user_script:1: boom script: f, on @user_script:1.",
		"OOM command not allowed when used memory > 'maxmemory'.":                        "OOM command not allowed when used memory > 'maxmemory'.",
		"MASTERDOWN Link with MASTER is down and replica-serve is set to 'no'.":          "MASTERDOWN Link with MASTER is down and replica-serve is set to 'no'.",
		"READONLY You can't write against a read only replica.":                          "READONLY You can't write against a read only replica.",
		"CROSSSLOT Keys in request don't hash to the same slot":                          "CROSSSLOT Keys in request don't hash to the same slot",
		"MISCONF Redis is configured, but it's unable":                                   "MISCONF Redis is configured, but it's unable",
		"ERR a\x00b\x1bc\xffd\u0085e":                                                    "ERR a?b?c?d?e",
		"":                                                                               "",
		strings.Repeat("é", 200):                                                         strings.Repeat("é", 128),
		"x" + strings.Repeat("é", 200):                                                   "x" + strings.Repeat("é", 127),
	} {
		assert.Equal(t, want, sanitize(msg), "%q", msg)
	}
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
		if (r.verdict == moved || r.verdict == ask) != (r.addr != "") || r.slot >= SlotCount || r.verdict > noScript {
			t.Errorf("classify(%q) = %+v", msg, r)
		}
		s := sanitize(string(msg))
		if len(s) > maxMessage || !utf8.ValidString(s) || strings.ContainsAny(s, "\r\n\x00\x7f") {
			t.Errorf("sanitize(%q) = %q", msg, s)
		}
		// No argument may come through where a server quotes one.
		hid := sanitize("ERR unknown subcommand '" + arg + "'. Try CLIENT HELP.")
		if hid != "ERR unknown subcommand '…'. Try CLIENT HELP." {
			t.Errorf("argument %q shows in %q", arg, hid)
		}
	})
}
