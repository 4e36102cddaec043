package limit

import (
	"math/rand/v2"
	"strconv"
	"time"

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

// ttl returns the time to live of a key that is needed until hits of the window count no more, and for calls that
// take the budget. If it expired before them, it would count from 0 again. It is whole seconds, for which EXPIRE is
// enough: users may have no right to PEXPIRE.
func (l *Limit) ttl(w window.Window, budget time.Duration) time.Duration {
	t := w.Left() + budget + slack + rand.N(w.Length/spread+1)
	if l.rule.Algorithm == SlidingWindow {
		t += w.Length
	}
	return (t + time.Second - 1).Truncate(time.Second)
}

// number returns the number of the window in the key. A bucket has one key for ever.
func (l *Limit) number(w window.Window) int64 {
	if l.rule.Algorithm == TokenBucket {
		return 0
	}
	return w.Number
}
