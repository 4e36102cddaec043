package cluster

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
)

// longestPrint bounds the text of a reply, so that a large one does not fill a log.
const longestPrint = 1 << 10

// shown returns the beginning of a reply as text.
func shown(raw []byte) string {
	text := printed(raw)
	if len(text) > longestPrint {
		return strings.ToValidUTF8(text[:longestPrint], "") + fmt.Sprintf("... (a reply of %d bytes)", len(raw))
	}
	return text
}

// printed returns a reply without attributes as text, or a longer text than is shown: the rest of
// a large reply costs nothing. It does not use radix, which decodes no map or set of RESP3 with
// strings as keys into an any.
func printed(reply []byte) string {
	switch {
	case len(reply) == 0:
		return ""
	case resp.IsError(reply):
		return cause.Said(resp.ErrorText(reply)).Error()
	case resp.IsNull(reply):
		return "(nil)"
	case strings.IndexByte("*~%", reply[0]) >= 0:
		return printedList(reply)
	}
	text, err := resp.Bytes(reply)
	switch {
	case err != nil:
		return err.Error()
	case reply[0] == '#':
		return strconv.FormatBool(string(text) == "t")
	}
	shown := string(text[:min(len(text), longestPrint+utf8.UTFMax)])
	if strings.IndexByte("$+=", reply[0]) >= 0 {
		return strconv.Quote(shown)
	}
	return shown
}

// printedList prints an array in its order. It sorts the elements of sets and maps, which have none.
func printedList(reply []byte) string {
	_, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	var each []string
	for size := 0; len(rest) > 0 && size <= longestPrint; {
		var first []byte
		first, rest = resp.Cut(rest)
		text := printed(first)
		if reply[0] == '%' {
			first, rest = resp.Cut(rest)
			text += ": " + printed(first)
		}
		each = append(each, text)
		size += len(text) + 1
	}
	switch reply[0] {
	case '%':
		slices.Sort(each)
		return "{" + strings.Join(each, ", ") + "}"
	case '~':
		slices.Sort(each)
		return "{" + strings.Join(each, " ") + "}"
	}
	return "[" + strings.Join(each, " ") + "]"
}
