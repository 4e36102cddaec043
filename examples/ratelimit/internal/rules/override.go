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
	l, err := limitOf(limit.Rule{Name: "override-" + string(unit), Quota: int64(perUnit), Window: window})
	if err != nil {
		return nil, "", err
	}
	key := appendPart(nil, domain)
	for _, e := range entries {
		key = appendPart(appendPart(key, e.Key), e.Value)
	}
	return &Rule{Limit: l, Unit: unit, RequestsPerUnit: perUnit}, finish(key), nil
}

// IsAs reports whether a rule denies the same as the limit that a descriptor brings with itself, which is
// never in the shadow by itself.
func (r *Rule) IsAs(own *Rule) bool {
	return r != nil && r.Unit == own.Unit && r.RequestsPerUnit == own.RequestsPerUnit && r.Limit.Rule().Shadow == own.Limit.Rule().Shadow
}
