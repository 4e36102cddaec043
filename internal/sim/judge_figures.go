package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/pool"
)

// figures: what the client says of its pools is possible, and keeps the settings.
func figures(h *History) string {
	before := make(map[poolOf]*Sample)
	replied := make(map[string]map[string]uint64) // of one look, by address
	for i := range h.Samples {
		s := &h.Samples[i]
		if i == 0 || h.Samples[i-1].At != s.At {
			clear(replied)
		}
		was := before[s.of()]
		if was != nil && was.Pool.Dials > s.Pool.Dials {
			was = nil // it is a new pool
		}
		before[s.of()] = s
		for _, wrong := range []string{h.sized(s), s.counted(replied), h.resized(was, s), h.roomy(was, s), h.kept(was, s), h.unasked(was, s), h.trusted(was, s)} {
			if wrong != "" {
				return fmt.Sprintf("%s (%s) at %v: %s", s.Addr, s.Role, s.At, wrong)
			}
		}
	}
	if wrong := h.uncounted(); wrong != "" {
		return wrong
	}
	return h.rested()
}

// A poolOf names one of the client's pools.
type poolOf struct{ addr, role string }

func (s *Sample) of() poolOf { return poolOf{s.Addr, s.Role} }

// sized: the numbers agree with each other and with the settings.
func (h *History) sized(s *Sample) string {
	p, inFlight := &s.Pool, 0
	for _, n := range p.LaneInFlight {
		inFlight += n
	}
	switch {
	case s.Balance != 0:
		return fmt.Sprintf("%+d connections that were dialled are neither open nor closed", s.Balance)
	case p.Target > p.Size, p.Target < h.Terms.MinConns:
		return fmt.Sprintf("%d connections are wanted, with %d to %d set", p.Target, h.Terms.MinConns, p.Size)
	case p.InUse+p.Idle != p.Open, p.InUse < 0, p.Idle < 0:
		return fmt.Sprintf("of %d connections %d are in use and %d idle", p.Open, p.InUse, p.Idle)
	case p.LaneInFlight != nil && (inFlight != p.InFlight || len(p.LaneInFlight) != p.Open):
		return fmt.Sprintf("%d batches are in flight on %d lanes, which have %v", p.InFlight, p.Open, p.LaneInFlight)
	}
	return ""
}

// counted: a client has seen no more error replies than its servers gave.
func (s *Sample) counted(replied map[string]map[string]uint64) string {
	sum := replied[s.Addr] // of the pools of one server
	if sum == nil {
		sum = make(map[string]uint64)
		replied[s.Addr] = sum
	}
	for code, n := range s.Pool.ErrorReplies {
		if sum[code] += n; sum[code] > s.Errors[code] {
			return fmt.Sprintf("%d error replies %q are counted, and the server gave %d", sum[code], code, s.Errors[code])
		}
	}
	return ""
}

// uncounted: a client has counted the error replies that callers were told of, unless its
// pools of the server are not those that they were at the time.
func (h *History) uncounted() string {
	if len(h.Samples) == 0 || h.Closing.From > 0 {
		return ""
	}
	first, last := h.Samples[0].At, h.Samples[len(h.Samples)-1].At
	counted, looks, all := make(map[string]map[string]uint64), make(map[poolOf]int), 0
	before := make(map[poolOf]uint64)
	fresh := make(map[string]bool) // addresses with a pool that was not there from the first to the last look
	for i := range h.Samples {
		s := &h.Samples[i]
		if i == 0 || h.Samples[i-1].At != s.At {
			all++
		}
		looks[s.of()]++
		fresh[s.Addr] = fresh[s.Addr] || s.Pool.Dials < before[s.of()]
		before[s.of()] = s.Pool.Dials
		if s.At == last {
			if counted[s.Addr] == nil {
				counted[s.Addr] = make(map[string]uint64)
			}
			for code, n := range s.Pool.ErrorReplies {
				counted[s.Addr][code] += n
			}
		}
	}
	for of, n := range looks {
		fresh[of.addr] = fresh[of.addr] || n != all
	}
	for at, n := range h.toldErrors(first, last) {
		if c, ok := counted[at.addr]; ok && !fresh[at.addr] && c[at.code] < n {
			return fmt.Sprintf("%s: callers were told of %d error replies %q, and %d are counted", at.addr, n, at.code, c[at.code])
		}
	}
	return ""
}

// An errorsOf names the error replies of a server with a code.
type errorsOf struct{ addr, code string }

// toldErrors returns how many error replies callers were told of in that time, of kinds of
// calls in which each command has a reply of its own.
func (h *History) toldErrors(from, to time.Duration) map[errorsOf]uint64 {
	told := make(map[errorsOf]uint64)
	for _, c := range h.Calls {
		if c.Kind == "hits" || !slices.Contains(promptKinds, c.Kind) || c.Began < from || c.Ended > to {
			continue
		}
		for i := range c.Commands {
			var said resp3.SimpleError
			var by *redislanes.Error
			cmd := &c.Commands[i]
			if cmd.Outcome != Failed || !errors.As(cmd.Err, &said) || !errors.As(cmd.Err, &by) {
				continue
			}
			code, _, _ := strings.Cut(said.S, " ")
			if slices.Contains(pool.ErrorCodes(), code) {
				told[errorsOf{by.Addr, code}]++
			}
		}
	}
	return told
}

// resized: a pool does not shrink while its server is down.
func (h *History) resized(was, is *Sample) string {
	if was == nil || !was.Pool.Down || !is.Pool.Down || was.Pool.Downs != is.Pool.Downs || was.Pool.Shrinks == is.Pool.Shrinks {
		return ""
	}
	return fmt.Sprintf("the pool shrank to %d connections since %v, while its server was down all the time", is.Pool.Target, was.At)
}

// losses are the reasons for which connections are closed that something is wrong with.
var losses = []string{redislanes.CloseStalled, redislanes.CloseByServer, redislanes.CloseTimeout, redislanes.CloseProtocol, redislanes.CloseIOFailure}

// kept: no connection is lost while nothing happens, or only what harms none.
func (h *History) kept(was, is *Sample) string {
	if was == nil || h.Closing.From > 0 || len(h.Rest) > 0 && is.At >= h.Rest[0].At { // when the world breaks some
		return ""
	}
	about := 0
	for _, f := range h.Faults {
		if !f.overlaps(was.At-healing, is.At) {
			continue
		}
		if about++; !f.harmless || about > 1 { // a server that pauses and cannot be dialled seems to be dead
			return ""
		}
	}
	for _, why := range losses {
		if n := is.Pool.Closes[why] - was.Pool.Closes[why]; n > 0 {
			return fmt.Sprintf("%d connections were lost (%s) since %v, when nothing was wrong with them", n, why, was.At)
		}
	}
	return ""
}

// rested: when nobody calls any more, nothing is in flight, and a pool is as small as
// it may be, unless its server is down.
func (h *History) rested() string {
	for i := range h.Rest {
		s := &h.Rest[i]
		switch p := &s.Pool; {
		case p.InFlight+p.SlowInFlight+p.InUse+p.Dedicated+p.Waiters > 0:
			return fmt.Sprintf("%s (%s): nobody has called for %v, and %d batches are in flight, %d wait, %d connections are in use and %d lent",
				s.Addr, s.Role, h.Rested, p.InFlight+p.SlowInFlight, p.Waiters, p.InUse, p.Dedicated)
		case p.Target > h.Terms.MinConns && !p.Down: // a pool does not shrink while its server is down, see resized
			return fmt.Sprintf("%s (%s): nobody has called for %v, and %d connections are wanted, of which %d are the least", s.Addr, s.Role, h.Rested, p.Target, h.Terms.MinConns)
		}
	}
	if h.HalfOpen > 0 && !h.Terms.Stubborn {
		return fmt.Sprintf("%d connections are half open, and the client has not found out in %v", h.HalfOpen, h.Rested)
	}
	return ""
}

// failed counts an error reply. Those to PINGs count for no command.
func (w *world) failed(n *model.Node, args [][]byte, reply []byte) {
	if strings.EqualFold(string(args[0]), "PING") {
		return
	}
	code, _, _ := strings.Cut(strings.TrimSuffix(string(reply[1:]), "\r\n"), " ")
	if !slices.Contains(pool.ErrorCodes(), code) {
		code = "other"
	}
	w.rec.note(func(*History) {
		if w.failures[w.reached(n)] == nil {
			w.failures[w.reached(n)] = make(map[string]uint64)
		}
		w.failures[w.reached(n)][code]++
	})
}

// owing is until Counters ask no more for the key of a hit that may run late.
const owing = 70 * time.Second

// rest lets time pass in which nobody calls, nor do Counters in the background, and connections are lost of which the
// client does not learn.
func (w *world) rest() {
	if w.rec.h.Closing.From > 0 {
		return
	}
	ended := w.rec.now()
	for w.rec.now() < ended+owing {
		time.Sleep(calmly * sampleEvery)
		w.look()
	}
	began := w.rec.now()
	if w.settings.Terms.Pings {
		w.net.Vanish(us, "", 0.5)
	}
	time.Sleep(w.settings.Terms.Rest)
	_, looked := w.look()
	halfOpen := w.net.HalfOpen("")
	w.rec.note(func(h *History) { h.Rested, h.Rest, h.HalfOpen = w.rec.now()-began, looked, halfOpen })
}
