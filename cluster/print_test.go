package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrinted: replies of each type.
func TestPrinted(t *testing.T) {
	for reply, want := range map[string]string{
		"+OK\r\n":                       `"OK"`,
		"$3\r\na\"b\r\n":                `"a\"b"`,
		"$0\r\n\r\n":                    `""`,
		"=7\r\ntxt:abc\r\n":             `"abc"`,
		":-7\r\n":                       "-7",
		",1.5\r\n":                      "1.5",
		"(12345678901234567890\r\n":     "12345678901234567890",
		"#t\r\n":                        "t",
		"#f\r\n":                        "f",
		"_\r\n":                         "(nil)",
		"$-1\r\n":                       "(nil)",
		"*-1\r\n":                       "(nil)",
		"*0\r\n":                        "[]",
		"*2\r\n$1\r\na\r\n*1\r\n:1\r\n": `["a" [1]]`,
		"%2\r\n$1\r\nb\r\n:1\r\n$1\r\na\r\n*1\r\n_\r\n":                          `["b" 1 "a" [(nil)]]`,
		"~2\r\n$1\r\nb\r\n$1\r\na\r\n":                                           `["b" "a"]`,
		"*1\r\n-ERR unknown command 'x', with args beginning with: 'secret'\r\n": "[ERR unknown command…]",
	} {
		require.Equal(t, want, printed([]byte(reply)), "%q", reply)
	}
}
