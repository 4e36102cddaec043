package limit

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/limit/internal/window"
)

// ttl returns the time to live of a key that is needed until the end of so many windows, this
// one included, and for calls that take the budget. If it expired before them, it would count
// from 0 again. It is whole seconds, for which EXPIRE is enough: users may have no right to PEXPIRE.
func ttl(w window.Window, windows int, budget time.Duration) time.Duration {
	least := w.Left() + time.Duration(windows-1)*w.Length
	t := least + budget + slack + rand.N(w.Length/spread+1)
	return (t + time.Second - 1).Truncate(time.Second)
}
