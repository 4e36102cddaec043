package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrinted: replies of each type are printed, maps and sets of RESP3 with strings as keys too.
func TestPrinted(t *testing.T) {
	for reply, want := range map[string]string{
		"+OK\r\n":                       `"OK"`,
		"$3\r\na\"b\r\n":                `"a\"b"`,
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
		"*1\r\n-ERR unknown command 'x', with args beginning with: 'secret'\r\n": "[ERR unknown command 'x']",
	} {
		require.Equal(t, want, printed([]byte(reply)), "%q", reply)
	}
}
