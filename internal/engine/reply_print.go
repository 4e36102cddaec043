package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes/internal/wire"
)

// String is that of cluster.Reply.
func (r Reply) String() string {
	raw, err := r.Raw()
	if err != nil {
		return err.Error()
	}
	var value any
	if err := wire.Unmarshal(raw, &value); err != nil {
		return err.Error()
	}
	text := printed(value)
	if len(text) > longestPrint {
		return text[:longestPrint] + fmt.Sprintf("... (%d bytes)", len(text))
	}
	return text
}

func printed(value any) string {
	switch v := value.(type) {
	case nil:
		return "(nil)"
	case error:
		return v.Error()
	case string:
		return strconv.Quote(v)
	case []byte:
		if v == nil {
			return "(nil)"
		}
		return strconv.Quote(string(v))
	case []any:
		if v == nil {
			return "(nil)"
		}
		each := make([]string, len(v))
		for i, e := range v {
			each[i] = printed(e)
		}
		return "[" + strings.Join(each, " ") + "]"
	case map[any]any:
		each := make([]string, 0, len(v))
		for key, e := range v {
			each = append(each, printed(key)+": "+printed(e))
		}
		slices.Sort(each)
		return "{" + strings.Join(each, ", ") + "}"
	case map[any]struct{}:
		each := make([]string, 0, len(v))
		for e := range v {
			each = append(each, printed(e))
		}
		slices.Sort(each)
		return "{" + strings.Join(each, " ") + "}"
	}
	return fmt.Sprint(value)
}
