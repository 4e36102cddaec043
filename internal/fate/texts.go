package fate

import (
	"bytes"
	_ "embed" // for the list of texts
	"slices"
)

// special are the beginnings of texts that mean something else than their codes, or than
// that the command is [Final].
var special = []struct {
	text string
	fate Fate
}{
	// Both "max number of clients reached" and, in a cluster, "max number of clients +
	// cluster connections reached". The server says it in reply to whatever comes first.
	{"ERR max number of clients ", NoRoom},
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
	for line := range bytes.Lines(errorTexts) {
		if line = bytes.TrimRight(line, "\n"); len(line) > 0 {
			all = append(all, prefix{append(bytes.Clone(errCode), line...), Final})
		}
	}
	slices.SortFunc(all, func(a, b prefix) int { return bytes.Compare(a.text, b.text) })
	return all
}()

// prefixed returns the fate of a text with a prefix in the list.
func prefixed(text []byte) (f Fate, ok bool) {
	i, found := slices.BinarySearchFunc(prefixes, text, func(p prefix, text []byte) int { return bytes.Compare(p.text, text) })
	if !found {
		i-- // the last one that is not behind the text
	}
	if i < 0 || !bytes.HasPrefix(text, prefixes[i].text) {
		return 0, false
	}
	return prefixes[i].fate, true
}
