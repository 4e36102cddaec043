package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

var defaults = Limits{StallTimeout: 3 * time.Second, PauseTimeout: 10 * time.Second, MinBackoff: 10 * ms, MaxBackoff: time.Second}

// A world plays a pool: it looks at its connections, does what the Server says, and notes
// that in words.
type world struct {
	Server
	began, now time.Time
	conns      []*link
	dials      map[string]Time
	redial     bool // a dial is due
	waiting    bool // callers wait for a connection
	told       State
	words      []string
}

// A link is one connection.
type link struct {
	Conn
	name                string
	progress            uint64
	sent                time.Time
	roundTrip           time.Duration
	inFlight, dedicated bool
	unread              bool // a reply waits to be read
	doubted, stalled    bool
}

func newWorld(l Limits) *world {
	now := time.Unix(1e9, 0)
	return &world{Server: New(l, now, l.LookEvery()), began: now, now: now, dials: make(map[string]Time)}
}

func (w *world) say(format string, args ...any) {
	w.words = append(w.words, fmt.Sprintf(format, args...))
}

func (w *world) link(name string) *link {
	i := slices.IndexFunc(w.conns, func(c *link) bool { return c.name == name })
	if i < 0 {
		panic("no connection " + name)
	}
	return w.conns[i]
}

// tell says what the server is if that has changed.
func (w *world) tell() {
	if w.told != w.State() {
		w.told = w.State()
		w.say("%s", [...]string{"up", "suspect", "down"}[w.told])
	}
}

func (w *world) look() {
	look := w.Look(w.now)
	joined := false
	for _, c := range w.conns {
		if c.stalled {
			continue // closed
		}
		joined = joined || !c.dedicated
		saw := Sight{Progress: c.progress, Unread: c.unread, InFlight: c.inFlight && !c.dedicated}
		if !c.dedicated {
			saw.RoundTrip = c.roundTrip
		}
		c.roundTrip = 0
		if look.See(&c.Conn, saw) && c.doubted {
			c.doubted = false
			w.say("trust %s", c.name)
		}
	}
	v := look.Judge(Dials{Out: len(w.dials) > 0, Due: w.redial, Joined: joined, Waiting: w.waiting})
	if v.Ask {
		w.say("ask")
	}
	w.tell()
	for _, c := range w.conns {
		if !c.dedicated && !c.doubted && w.Doubts(&c.Conn) {
			c.doubted = true
			w.say("doubt %s", c.name)
		}
		if !c.dedicated && !c.stalled && (v.Stalled || w.Stalls(&c.Conn)) {
			c.stalled = true
			w.say("stall %s", c.name)
		}
	}
}

// until lets the time pass, and looks as a busy pool does.
func (w *world) until(at time.Duration) {
	for end := w.began.Add(at); w.now.Before(end); {
		next := w.Looked().Add(w.LookEvery())
		if next.After(end) {
			w.now = end
			return
		}
		if next.After(w.now) { // else the process was frozen then
			w.now = next
		}
		w.look()
	}
}

// happen does what the event says: a word and what it is about.
func (w *world) happen(t *testing.T, event string) {
	f := strings.Fields(event + " - - -")
	what, of, how := f[0], f[1], f[2]
	switch what {
	case "join": // a connection, which needed no dial
		c := &link{name: of}
		w.Start(&c.Conn, w.now, 0)
		w.conns = append(w.conns, c)
	case "send":
		c := w.link(of)
		c.inFlight, c.sent = true, w.now
	case "arrive": // a reply, which nobody reads yet
		w.link(of).unread = true
	case "reply":
		c := w.link(of)
		c.progress++
		c.unread = false
		c.inFlight, c.roundTrip = false, w.now.Sub(c.sent)
	case "dedicate", "return": // return: bytes have arrived meanwhile
		c := w.link(of)
		if c.dedicated = what == "dedicate"; !c.dedicated {
			c.progress++
			if c.Progressed(c.progress) {
				w.Served()
			}
			w.Start(&c.Conn, w.now, c.progress)
		}
	case "miss":
		c := w.link(of)
		if w.Missed(&c.Conn, w.now, c.progress) && !c.doubted {
			c.doubted = true
			w.say("doubt %s", of)
		}
	case "lose":
		c := w.link(of)
		w.conns = slices.DeleteFunc(w.conns, func(o *link) bool { return o == c })
		err := fmt.Errorf("end of %s", of)
		w.Lost(w.now, &c.Conn, c.stalled, err, len(w.conns))
	case "replace":
		for _, c := range w.conns {
			if c.doubted && w.Answers() && w.Replaces(&c.Conn) {
				w.say("replace %s", c.name)
			}
		}
	case "answer":
		w.Answered(w.now)
	case "heard":
		w.Heard(w.now)
	case "dial":
		w.dials[of], w.redial = w.At(w.now), false
	case "fail":
		kind := map[string]Kind{"unanswered": Unanswered, "refused": Refused, "forgood": ForGood}[how]
		asked := w.dials[of]
		delete(w.dials, of)
		w.redial = true
		w.Failed(w.now, Failure{Asked: asked, Kind: kind, Err: fmt.Errorf("%s %s", of, how)}, len(w.conns), len(w.dials))
	case "dialled":
		took, err := time.ParseDuration(how)
		require.NoError(t, err)
		delete(w.dials, of)
		w.Dialled(w.now, took)
		w.happen(t, "join "+of)
	case "returned":
		w.Returned()
	case "unwanted":
		w.redial = false
		w.Unwanted()
	case "wait", "leave": // callers, who want a connection
		w.waiting = what == "wait"
	case "freeze": // the process, which does not look
		took, err := time.ParseDuration(of)
		require.NoError(t, err)
		w.now = w.now.Add(took)
		w.began = w.began.Add(took) // so that the clock of the history stands still, too
	case "-":
	default:
		t.Fatalf("no event %q", event)
	}
	w.tell()
}

// A step is an event of a history, and what must have been said from the last one on.
type step struct {
	at    time.Duration
	event string
	want  string
}

func (w *world) play(t *testing.T, steps []step) {
	for i, s := range steps {
		w.until(s.at)
		for event := range strings.SplitSeq(s.event, ";") {
			w.happen(t, event)
		}
		require.Equal(t, s.want, strings.Join(w.words, ", "), "step %d, at %v: %q", i, s.at, s.event)
		w.words = nil
	}
}
