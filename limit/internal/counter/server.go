package counter

import (
	"errors"
	"math"
	"sync/atomic"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	redislanes "github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/pipeline"
)

// A Server is what is known of the commands that the servers of a limiter have. The zero Server knows
// nothing. It is safe for concurrent use.
//
// The first take that counts carries a probe for INCREX. When a server does not know INCREX, or does not
// allow it, the Server does without it from then on.
type Server struct {
	increx   atomic.Int32
	silent   atomic.Int32 // probes with an unknown outcome
	noSetGet atomic.Bool  // SET refuses NX with GET, as Redis 6.2 does
}

// What is known of INCREX.
const (
	unknown int32 = iota
	asking
	has
	lacks
)

// mostSilent is how many probes may get no reply. A proxy may close the connection of a command that it does
// not know.
const mostSilent = 3

// appendProbe appends an INCREX that never counts and creates nothing, once.
func (s *Server) appendProbe(p *pipeline.Pipeline, t *Take) {
	if t.probing = s.increx.CompareAndSwap(unknown, asking); t.probing {
		t.probe = p.Cmd("INCREX", t.Key, "BYINT", 1, "UBOUND", int64(math.MinInt64))
	}
}

func (s *Server) readProbe(t *Take) {
	if !t.probing {
		return
	}
	t.probing = false
	said := unknown
	var numbers []int64
	err := t.probe.Into(&numbers)
	switch {
	case err == nil && len(numbers) == 2 && numbers[1] == 0:
		said = has
	case err == nil, errors.Is(err, redislanes.ErrDecode), unsupported(err):
		said = lacks
	case errors.Is(err, redislanes.ErrUnknownOutcome) && s.silent.Add(1) == mostSilent:
		said = lacks
	}
	s.increx.CompareAndSwap(asking, said)
}

// fateOf judges the server's error; fate.Unlisted if it is none.
func fateOf(err error) fate.Fate {
	var said resp3.SimpleError
	if !errors.As(err, &said) {
		return fate.Unlisted
	}
	return fate.Of([]byte(said.S))
}

// unsupported reports whether the server does not have the command as it was sent, or does not allow it.
func unsupported(err error) bool {
	f := fateOf(err)
	return f.Unsupported() || f == fate.NoPermission
}
