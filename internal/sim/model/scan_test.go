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

// scanPatterns and what they match of scanKeys.
var (
	scanKeys     = []string{"{bar}user/1", "{bar}x[y]", "{bar}x*y", "{bar}é", `{bar}x\`, "{bar}-"}
	scanPatterns = map[string][]string{
		"*": scanKeys, "": nil, "{bar}user*": scanKeys[:1], "{bar}user?1": scanKeys[:1], `{bar}x\[y\]`: scanKeys[1:2],
		"*[0-9]": scanKeys[:1], "*[9-0]": scanKeys[:1], "*[^1]": scanKeys[1:], "*[1": scanKeys[:1], "*[": nil, "{bar}x[[]y]": scanKeys[1:2],
		`{bar}x\`: scanKeys[4:5], "{bar}??": scanKeys[3:5], "{bar}[a-]": nil, "{bar}[+--]": scanKeys[5:], `*[\]]`: scanKeys[1:2], "**y*": {scanKeys[1], scanKeys[2]},
		"{bar}": nil, "{bar}x?y": scanKeys[2:3], `{bar}x\*y`: scanKeys[2:3],
	}
)

func TestPatterns(t *testing.T) {
	s := New(Options{}).Nodes()[0].NewSession(nil)
	defer s.Close()
	for _, key := range scanKeys {
		do(s, "SET "+key+" 1")
	}
	for pattern, want := range scanPatterns {
		reply, _ := s.Do([][]byte{[]byte("SCAN"), []byte("0"), []byte("MATCH"), []byte(pattern)})
		_, keys := scanned(t, string(reply))
		require.ElementsMatch(t, want, keys, pattern)
	}
}

// TestFidelityOfPatterns: a real server matches so.
func TestFidelityOfPatterns(t *testing.T) {
	eachServer(t, func(t *testing.T, binary string, dialect Dialect) {
		w := newTwin(t, binary, dialect, 1)
		p := newPair(w, 0)
		defer p.close()
		for _, key := range scanKeys {
			p.send([][]byte{[]byte("SET"), []byte(key), []byte("1")})
			p.receive()
		}
		for pattern, want := range scanPatterns {
			p.send([][]byte{[]byte("SCAN"), []byte("0"), []byte("MATCH"), []byte(pattern), []byte("COUNT"), []byte("1000")})
			_, keys := scanned(t, string(p.receive()))
			require.ElementsMatch(t, want, keys, pattern)
		}
	})
}
