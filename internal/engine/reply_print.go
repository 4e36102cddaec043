package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// String is that of cluster.Reply.
func (r Reply) String() string {
	raw, err := r.Raw()
	if err != nil {
		return err.Error()
	}
	text := printed(resp.WithoutAttributes(raw))
	if len(text) > longestPrint {
		return text[:longestPrint] + fmt.Sprintf("... (%d bytes)", len(text))
	}
	return text
}

// printed returns a reply without attributes as text. It does not use radix, which
// decodes no map or set of RESP3 with strings as keys into an any.
func printed(reply []byte) string {
	elements, isList := resp.Array(reply)
	switch {
	case resp.IsError(reply):
		return wire.Said(resp.ErrorText(reply)).Error()
	case resp.IsNull(reply):
		return "(nil)"
	case isList:
		return printedList(reply[0], elements)
	}
	text, err := resp.Bytes(reply)
	switch {
	case err != nil:
		return err.Error()
	case reply[0] == '#':
		return strconv.FormatBool(string(text) == "t")
	case strings.IndexByte("$+=", reply[0]) >= 0:
		return strconv.Quote(string(text))
	}
	return string(text)
}

// printedList prints an array in its order. It sorts the elements of sets and maps, which have none.
func printedList(kind byte, elements [][]byte) string {
	each := make([]string, 0, len(elements))
	for i := 0; i < len(elements); i++ {
		text := printed(elements[i])
		if kind == '%' && i+1 < len(elements) {
			i++
			text += ": " + printed(elements[i])
		}
		each = append(each, text)
	}
	switch kind {
	case '%':
		slices.Sort(each)
		return "{" + strings.Join(each, ", ") + "}"
	case '~':
		slices.Sort(each)
		return "{" + strings.Join(each, " ") + "}"
	}
	return "[" + strings.Join(each, " ") + "]"
}
