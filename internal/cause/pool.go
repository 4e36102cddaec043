package cause

import (
	"fmt"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
)

// A Down is [redislanes.ErrDown] with the server and why it is down.
type Down struct {
	Addr   string
	Since  time.Time     // when its silence began, or the first dial failed
	Cause  error         // such as ErrSuspect, ErrStalled or a dial's error
	Lasted time.Duration // from Since to when the error was made
}

func (d *Down) Error() string {
	return fmt.Sprintf("server down for %s: %s", seconds(d.Lasted), text(d.Cause, d.Addr))
}

// Unwrap returns ErrDown and the cause.
func (d *Down) Unwrap() []error { return []error{redislanes.ErrDown, d.Cause} }

// A Wait says that the context of a batch, or of a user that wanted to get
// a connection, ended while it waited.
type Wait struct {
	Waited  time.Duration
	Used    int    // connections in use at that moment; of shared ones, batches in flight
	Of      int    // how many may be
	What    string // "in use" or "in flight", perhaps "for slow commands"
	Dialing int    // connections that were being made
	Waiting int    // callers that waited, that one included
	Failed  error  // why the last dial has failed; nil: it has not
	Cause   error  // the context's error
}

func (e *Wait) Error() string {
	dialing := ""
	if e.Dialing > 0 {
		dialing = fmt.Sprintf(", %d being dialled", e.Dialing)
	}
	if e.Failed != nil {
		dialing += fmt.Sprintf(", the last dial failed (%v)", e.Failed)
	}
	unit := time.Millisecond
	if e.Waited < 10*unit {
		unit = time.Microsecond
	}
	return fmt.Sprintf("waited %v, %d of %d %s%s, %d waiting: %v", e.Waited.Round(unit), e.Used, e.Of, e.What, dialing, e.Waiting, e.Cause)
}

// Unwrap returns the cause.
func (e *Wait) Unwrap() error { return e.Cause }

// text returns what err says as part of the text of an error that has said the prefix and
// the address already.
func text(err error, addr string) string {
	return strings.TrimPrefix(strings.TrimPrefix(fmt.Sprint(err), "redislanes: "), addr+": ")
}
