package rules

import (
	"fmt"

	"github.com/redislanes/redislanes/limit"
)

// Override returns the limit that a descriptor brings with itself, and the key that
// its hits are counted by. No file can have a limit of its name, which has no dot.
func Override(domain string, entries []Entry, perUnit uint32, unit Unit, shadow bool) (*Rule, string, error) {
	window, ok := windows[unit]
	if !ok {
		return nil, "", fmt.Errorf("unit = %q: want %s", unit, unitNames)
	}
	key := appendPart(nil, domain)
	for _, e := range entries {
		key = appendPart(appendPart(key, e.Key), e.Value)
	}
	own := limit.Rule{Name: "override-" + string(unit), Quota: int64(perUnit), Window: window, Shadow: shadow}
	return &Rule{Own: own, Unit: unit, RequestsPerUnit: perUnit}, finish(key), nil
}

// IsAs reports whether a rule denies the same as the limit that a descriptor brings with itself, which is
// never in the shadow by itself.
func (r *Rule) IsAs(own *Rule) bool {
	return r != nil && r.Unit == own.Unit && r.RequestsPerUnit == own.RequestsPerUnit && r.Settings().Shadow == own.Own.Shadow
}
