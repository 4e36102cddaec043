package command

import (
	"math"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/internal/resp"
)

// Endless is how long a command waits that has no timeout.
const Endless = time.Duration(math.MaxInt64)

// Waits returns how long the command may wait for data before the server replies, by its own
// timeout: 0 for one that does not block, [Endless] for one without a timeout and for one that
// is not known.
func (c Command) Waits() time.Duration {
	switch {
	case !c.Known():
		return Endless
	case c.Traits()&Blocking == 0:
		return 0
	}
	args := c.args()
	switch last := args.Len() - 1; c.Name() {
	case "BLPOP", "BRPOP", "BZPOPMAX", "BZPOPMIN", "BLMOVE", "BRPOPLPUSH":
		return timeout(args, last, time.Second)
	case "BLMPOP", "BZMPOP":
		return timeout(args, 0, time.Second)
	case "BLMOVEM":
		const place = 4 // options may follow
		return timeout(args, place, time.Second)
	case "WAIT", "WAITAOF":
		return timeout(args, last, time.Millisecond)
	case "XREAD", "XREADGROUP":
		_, block := streamOptions(args)
		return timeout(args, block, time.Millisecond)
	}
	return Endless
}

// timeout reads the argument at the given place. The server refuses what is no number.
func timeout(args resp.Args, at int, unit time.Duration) time.Duration {
	args.Skip(at)
	arg, _ := args.Next()
	n, err := strconv.ParseFloat(string(arg), 64)
	switch {
	case err != nil || n < 0 || math.IsNaN(n):
		return 0
	case n == 0 || n >= float64(Endless/unit):
		return Endless
	}
	return time.Duration(n * float64(unit))
}
