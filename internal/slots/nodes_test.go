package slots

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseNodes(t *testing.T) {
	t.Parallel()
	const text = "b9 10.0.0.2:7000@17000,h.example slave a1 0 1 7 connected\n" +
		"a1 10.0.0.1:7000@17000 myself,master - 0 0 7 connected 0-5460 [93-<-c3]\n" +
		"c3 :0@0 master,fail,noaddr - 1 1 3 disconnected 5461-16383\n"
	want := NodesReply{Epochs: map[string]uint64{"a1": 7, "b9": 7, "c3": 3}}
	for _, reply := range []string{
		fmt.Sprintf("$%d\r\n%s\r\n", len(text), text),
		fmt.Sprintf("=%d\r\ntxt:%s\r\n", len(text)+4, text),
	} {
		got, err := ParseNodes([]byte(reply))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, reply := range []string{
		"", "$-1\r\n", "_\r\n", ":1\r\n", "*0\r\n", "-ERR no\r\n",
	} {
		_, err := ParseNodes([]byte(reply))
		assert.ErrorContains(t, err, "CLUSTER NODES", "%q", reply)
	}
}

// TestOddLineCostsItself: the lines before and behind it are used.
func TestOddLineCostsItself(t *testing.T) {
	t.Parallel()
	const line = "a1 10.0.0.1:7000@17000 myself,master - 0 0 7 connected 0-16383\n"
	for _, odd := range []string{"abc\n", "a b c d e f -1 h\n", "a b c d e f g h\n"} {
		got, err := ParseNodes([]byte(bulkOf(odd + line + odd)))
		require.NoError(t, err, odd)
		require.Len(t, got.Skips, 2, odd)
		got.Skips = nil
		require.Equal(t, NodesReply{Epochs: map[string]uint64{"a1": 7}}, got, odd)
	}
	_, err := ParseNodes([]byte(bulkOf(strings.Repeat(line, maxNodes+1))))
	require.ErrorContains(t, err, "lines")
}

func bulkOf(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func FuzzParseNodes(f *testing.F) {
	f.Add([]byte("$52\r\na1 10.0.0.1:7000@17000 myself,master - 0 0 7 connected\r\n"))
	f.Add([]byte("=12\r\ntxt:a b c d\n\r\n"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		told, err := ParseNodes(reply)
		if err == nil && len(told.Epochs) > len(reply)/16 {
			t.Fatalf("%d nodes in %d bytes", len(told.Epochs), len(reply))
		}
	})
}
