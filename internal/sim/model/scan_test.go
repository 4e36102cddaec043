package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scanned are the cursor and the keys of a reply.
func scanned(t *testing.T, reply string) (cursor string, keys []string) {
	lines := strings.Split(strings.TrimSuffix(reply, "\r\n"), "\r\n")
	require.GreaterOrEqual(t, len(lines), 4, "%q", reply)
	for i := 5; i < len(lines); i += 2 {
		keys = append(keys, lines[i])
	}
	return lines[2], keys
}

// TestScanWhileKeysGo: a program that deletes what SCAN tells leaves nothing, and one that adds
// keys sees all that were there before.
func TestScanWhileKeysGo(t *testing.T) {
	for _, change := range []string{"DEL %s", "SET new-%s 1"} {
		s := New(Options{Primaries: 1}).Nodes()[0].NewSession(nil)
		for i := range 100 {
			do(s, fmt.Sprintf("SET user/%d 1", i))
		}
		var told []string
		for cursor := "0"; ; {
			var keys []string
			cursor, keys = scanned(t, do(s, "SCAN "+cursor+" MATCH user* COUNT 7"))
			for _, key := range keys {
				do(s, fmt.Sprintf(change, key))
			}
			if told = append(told, keys...); cursor == "0" {
				break
			}
		}
		slices.Sort(told)
		require.Len(t, slices.Compact(told), 100, change)
		s.Close()
	}
}

// TestFidelityOfPatterns compares what patterns match.
func TestFidelityOfPatterns(t *testing.T) {
	patterns := []string{
		"*", "", "{bar}user*", "{bar}user?1", `{bar}x\[y\]`, "*[0-9]", "*[9-0]", "*[^1]", "*[1", "*[", "{bar}x[[]y]", `{bar}x\`, "{bar}??",
		"{bar}[a-]", "{bar}[+--]", `*[\]]`, "**y*", "{bar}", "{bar}x?y", `{bar}x\*y`,
	}
	eachServer(t, func(t *testing.T, binary string, dialect Dialect) {
		p := newPair(newTwin(t, binary, dialect, 1), 0)
		defer p.close()
		for _, key := range []string{"{bar}user/1", "{bar}x[y]", "{bar}x*y", "{bar}é", `{bar}x\`, "{bar}-"} {
			p.both("SET", key, "1")
		}
		for _, pattern := range patterns {
			mine, theirs := p.both("SCAN", "0", "MATCH", pattern, "COUNT", "1000")
			_, want := scanned(t, theirs)
			_, keys := scanned(t, mine)
			require.ElementsMatch(t, want, keys, pattern)
		}
	})
}
