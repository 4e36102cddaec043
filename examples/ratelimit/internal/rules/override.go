package rules

import (
	"fmt"

	"github.com/redislanes/redislanes/limit"
)

// Override returns the limit that a descriptor brings with itself, and the key that
// its hits are counted by. No file can have a limit of its name, which has no dot.
func Override(limitOf func(limit.Rule) (*limit.Limit, error), domain string, entries []Entry, perUnit uint32, unit Unit) (*Rule, string, error) {
	window, ok := windows[unit]
	if !ok {
		return nil, "", fmt.Errorf("unit = %q: want %s", unit, unitNames)
	}
	l, err := limitOf(limit.Rule{Name: "override-" + string(unit), Limit: int64(perUnit), Window: window})
	if err != nil {
		return nil, "", err
	}
	key := appendPart(nil, domain)
	for _, e := range entries {
		key = appendPart(appendPart(key, e.Key), e.Value)
	}
	return &Rule{Limit: l, Unit: unit, RequestsPerUnit: perUnit}, finish(key), nil
}
