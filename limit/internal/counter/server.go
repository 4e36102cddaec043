package counter

import (
	"errors"
	"math"
	"sync/atomic"

	redislanes "github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
)

// A Server is what is known of the commands that the servers of a limiter have. The zero Server takes
// them to have all. It is safe for concurrent use.
type Server struct {
	silent   atomic.Int32 // how many INCREX in a row got no reply at first; from mostSilent on it is not used
	noSetGet atomic.Bool  // SET refuses NX with GET, as Redis 6.2 does
}

// mostSilent is how many takes may get no reply to INCREX. A proxy may close the connection of a command that
// it does not know.
const mostSilent = 3

// noteIncrex notes what a reply to INCREX says about the server. It reports whether that has the command.
func (s *Server) noteIncrex(err error) (has bool) {
	f, said := cause.FateOf(err)
	switch {
	case err == nil:
		if s.silent.Load() >= 0 {
			s.silent.Store(math.MinInt32)
		}
	case said && (f.Unsupported() || f == fate.NoPermission || f == fate.Unlisted):
		s.silent.Store(mostSilent)
		return false
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		s.silent.Add(1)
	}
	return true
}

// first returns the step that asks for the hits first. Where nothing is known of a sliding window, a single hit may be
// counted before the window before is read: if it does not fit, no hit does, so it is in nobody's way.
func (s *Server) first(t *Take) step {
	switch {
	case t.n == 0:
		return look
	case !t.Known && t.Before != "" && t.n > 1:
		return script
	case s.silent.Load() < mostSilent:
		return increx
	case t.n < 0 || t.n > t.Bound || t.Known && !t.far() || !t.Known && s.noSetGet.Load():
		return script
	case t.Known:
		return incr
	}
	return set
}
