package limit

import (
	"strconv"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// names returns the key in Redis of a window and, for a sliding window, of the one before. Both are in one
// slot, by a tag for the slot of the user's key: the script needs both. The window comes before the
// user's key, so that no two keys can be the same.
func (l *Limit) names(number int64, key string) (name, before string) {
	if l.rule.Algorithm != SlidingWindow {
		return l.head + l.part(number) + ":" + key, ""
	}
	head := l.head + "{" + strconv.FormatInt(int64(tags()[cluster.Slot(key)]), 10) + "}"
	return head + l.part(number) + ":" + key, head + l.part(number-1) + ":" + key
}

// made reports whether Rule.New has made the limit.
func (l *Limit) made() bool { return l != nil && l.head != "" }

// windows returns how many windows a hit counts in.
func (l *Limit) windows() int {
	if l.rule.Algorithm == SlidingWindow {
		return 2
	}
	return 1
}

// number returns the number of the window in the key. A bucket has one key for ever.
func (l *Limit) number(w window.Window) int64 {
	if l.rule.Algorithm == TokenBucket {
		return 0
	}
	return w.Number
}
