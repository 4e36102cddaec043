package fate

import (
	"bytes"
	_ "embed" // for the list of texts
	"slices"
	"strings"
)

// special are the beginnings of texts that mean something else than their codes, or than
// that the command is [Final].
var special = []struct {
	text string
	fate Fate
}{
	// The server says it in reply to whatever comes first, the second one in a cluster.
	{"ERR max number of clients reached", NoRoom},
	{"ERR max number of clients + cluster connections reached", NoRoom},
	{"ERR This instance has cluster support disabled", ClusterDisabled},
	{"ERR Cluster is disabled", ClusterDisabled},         // Dragonfly, also a part of a cluster to READWRITE
	{"ERR Cluster mode is not enabled", ClusterDisabled}, // Kvrocks
	{"ERR Cluster is not yet configured", Down},          // Dragonfly, before its first configuration
	{"ERR increment or decrement would overflow", Overflow},

	{"ERR unknown command", Unknown},
	{"ERR unknown subcommand", Unknown},
	{"ERR Unknown subcommand", Unknown},
	{"unsupported command", Unknown},   // Envoy's Redis proxy
	{"ERR 'CLUSTER ", Unknown},         // miniredis: "ERR 'CLUSTER MYID' not supported"
	{"ERR 'CLIENT ", Unknown},          // miniredis
	{"ERR CLUSTER command, ", Unknown}, // Kvrocks: "ERR CLUSTER command, CLUSTER INFO|NODES|SLOTS|KEYSLOT"

	{"ERR wrong number of arguments", Syntax},
	{"ERR syntax error", Syntax},
	{"ERR Syntax error, try ", Syntax},
	{"ERR Unsupported option ", Syntax},

	{"ERR invalid password", Login}, // Redis before 6, and twemproxy

	{"ERR Error running script", Perhaps},
	{"ERR Script killed by user", Perhaps},
	{"ERR Target instance replied with error", Perhaps}, // MIGRATE

	{"CLUSTERDOWN Hash slot not served", Unserved},
	// The user's CLIENT UNBLOCK is not meant.
	{"UNBLOCKED force unblock from blocking operation", ReadOnly},
}

// withCodes are the beginnings of texts that mean what their codes do. They are listed to be printed.
var withCodes = []string{
	"BUSY Redis is busy running a script.",
	"BUSY Valkey is busy running a script.",
	"BUSYGROUP Consumer Group name already exists",
	"BUSYKEY Target key name already exists.",
	"CLUSTERDOWN The cluster is down",
	"CROSSSLOT Keys in request don't hash to the same slot",
	"DENIED Redis is running in protected mode",
	"DENIED Running in protected mode",
	"EXECABORT Transaction discarded because of previous errors.",
	"IOERR error or timeout ",
	"LOADING Redis is loading the dataset in memory",
	"LOADING Valkey is loading the dataset in memory",
	"MASTERDOWN Link with MASTER is down",
	"MASTERDOWN Link with PRIMARY is down",
	"MISCONF Errors writing to the AOF file",
	"MISCONF Redis is configured to save RDB snapshots, but it",
	"MISCONF Valkey is configured to save RDB snapshots, but it",
	"NOAUTH Authentication required.",
	"NOPERM No permissions to access a channel",
	"NOPERM No permissions to access a key",
	"NOPERM this user has no permissions to access one of the ",
	"NOPROTO unsupported protocol version",
	"NOREPLICAS Not enough good replicas to write.",
	"NOSCRIPT No matching script.",
	"NOTBUSY No scripts in execution right now.",
	"OOM command not allowed when used memory > 'maxmemory'.",
	"READONLY You can't write against a read only replica.",
	"TRYAGAIN Multiple keys request during rehashing of slot",
	"UNKILLABLE Sorry the script already executed write commands",
	"WRONGPASS invalid username-password pair or user is disabled.",
	"WRONGTYPE Operation against a key holding the wrong kind of value",
}

// errorTexts lists the beginnings of the texts that begin with "ERR " and are [Final], one
// a line, without the "ERR ". They come from the sources of the servers; a test asks
// running ones.
//
//go:embed errors.txt
var errorTexts []byte

// A prefix is the beginning of texts.
type prefix struct {
	text []byte
	fate Fate
}

// prefixes are sorted. None begins with another one.
var prefixes = func() []prefix {
	var all []prefix
	for _, s := range special {
		all = append(all, prefix{[]byte(s.text), s.fate})
	}
	for _, text := range withCodes {
		code, _, _ := strings.Cut(text, " ")
		all = append(all, prefix{[]byte(text), codes[code]})
	}
	for line := range bytes.Lines(errorTexts) {
		if line = bytes.TrimRight(line, "\n"); len(line) > 0 {
			all = append(all, prefix{append(bytes.Clone(errCode), line...), Final})
		}
	}
	slices.SortFunc(all, func(a, b prefix) int { return bytes.Compare(a.text, b.text) })
	return all
}()

// listed returns the prefix in the list that the text begins with; nil: none.
func listed(text []byte) *prefix {
	i, found := slices.BinarySearchFunc(prefixes, text, func(p prefix, text []byte) int { return bytes.Compare(p.text, text) })
	if !found {
		i-- // the last one that is not behind the text
	}
	if i < 0 || !bytes.HasPrefix(text, prefixes[i].text) {
		return nil
	}
	return &prefixes[i]
}

const hidden, unlisted = "…", "an unlisted error text"

// Printed returns what errors and logs show of an error's text: the beginning that the table lists, which
// holds no argument of a command, or else the code alone. Programs find the whole text by errors.As.
func Printed(text string) string {
	if p := listed([]byte(text)); p != nil {
		shown := string(p.text)
		if len(text) > len(shown) {
			shown += hidden
		}
		return shown
	}
	code, _, more := strings.Cut(text, " ")
	switch {
	case !isCode(code):
		return unlisted
	case more:
		return code + " " + hidden
	}
	return code
}

// isCode tells whether the first word of an error's text is a code, such as WRONGTYPE.
func isCode(word string) bool {
	const longest = 32
	for i := range len(word) {
		if c := word[i]; (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return word != "" && len(word) <= longest
}
