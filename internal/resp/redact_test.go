package resp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Texts as Redis 5 to 8.2 and Valkey 9.1 write them; "canary" stands for an argument.
func TestRedact(t *testing.T) {
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
		"ERR invalid longitude,latitude pair 424242.000000,424242.000000":                "ERR invalid longitude,latitude pair …",
		"ERR Unsupported CONFIG parameter: canary":                                       "ERR Unsupported CONFIG parameter: …",
		"ERR syntax error in FILTER expression near: .canary == 1":                       "ERR syntax error in FILTER expression near: …",
		"ERR Unsupported option canary":                                                  "ERR Unsupported option …",
		"ERR Unknown option given: canary":                                               "ERR Unknown option given: …",
		"ERR Unknown argument canary":                                                    "ERR Unknown argument …",
		"Syntax error at offset 12 near canary":                                          "Syntax error at offset 12 near …",
		"ERR member canary does not exist":                                               "ERR member … does not exist",
		"canary: no such index":                                                          "…: no such index",
		"SEARCH_SYNTAX Syntax error at offset 7 near @canary' near canary":               "SEARCH_SYNTAX Syntax error at offset 7 near …",
		"ERR 'canary' near ":                                                  "ERR '…' near …",
		"ERR Invalid node name: canary":                                       "ERR Invalid node name: …",
		"ERR Unexpected engine in script shebang: canary":                     "ERR Unexpected engine in script shebang: …",
		"ERR unknown subcommand 'a'" + strings.Repeat("canary'", MaxRedacted): "ERR unknown subcommand '…",
		strings.Repeat("'", 1<<20):                                            "'…",
		"":                                                                    "",
		strings.Repeat("é", 200):                                              strings.Repeat("é", 128),
		"x" + strings.Repeat("é", 200):                                        "x" + strings.Repeat("é", 127),
	} {
		assert.Equal(t, want, Redact(msg), "%q", msg)
	}
}
