package cluster

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrinted: replies of each type are printed, maps and sets of RESP3 with strings as keys too.
func TestPrinted(t *testing.T) {
	for reply, want := range map[string]string{
		"+OK\r\n":                       `"OK"`,
		"$3\r\na\"b\r\n":                `"a\"b"`,
		"$0\r\n\r\n":                    `""`,
		"=7\r\ntxt:abc\r\n":             `"abc"`,
		":-7\r\n":                       "-7",
		",1.5\r\n":                      "1.5",
		"(12345678901234567890\r\n":     "12345678901234567890",
		"#t\r\n":                        "true",
		"#f\r\n":                        "false",
		"_\r\n":                         "(nil)",
		"$-1\r\n":                       "(nil)",
		"*-1\r\n":                       "(nil)",
		"*0\r\n":                        "[]",
		"*2\r\n$1\r\na\r\n*1\r\n:1\r\n": `["a" [1]]`,
		"%2\r\n$1\r\nb\r\n:1\r\n$1\r\na\r\n*1\r\n_\r\n":                          `{"a": [(nil)], "b": 1}`,
		"~2\r\n$1\r\nb\r\n$1\r\na\r\n":                                           `{"a" "b"}`,
		"*1\r\n-ERR unknown command 'x', with args beginning with: 'secret'\r\n": "[ERR unknown command…]",
	} {
		require.Equal(t, want, printed([]byte(reply)), "%q", reply)
	}
}

// TestPrintingIsBounded: a large reply in a log costs what is shown of it.
func TestPrintingIsBounded(t *testing.T) {
	const size = 4 << 20
	bulk := append(append(fmt.Appendf(nil, "$%d\r\n", size), make([]byte, size)...), "\r\n"...)
	list := append(fmt.Appendf(nil, "*%d\r\n", size/4), bytes.Repeat([]byte(":1\r\n"), size/4)...)
	runes := fmt.Appendf(nil, "$%d\r\n%s\r\n", size, strings.Repeat("ä", size/2))
	for _, raw := range [][]byte{bulk, list, runes, append([]byte("~1\r\n"), list...), append([]byte("%1\r\n:1\r\n"), bulk...)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text := shown(raw)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<10), "%.20q", raw)
		require.Contains(t, text, fmt.Sprintf("... (a reply of %d bytes)", len(raw)))
		require.Greater(t, len(text), longestPrint)
		require.NotContains(t, text, "\uFFFD")
		require.NotContains(t, text, `\xc3`)
	}
}
