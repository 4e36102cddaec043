package guard

import (
	"context"
	"log/slog"
	"time"
)

// spacing is the least time between two lines of a [Throttle].
const spacing = 5 * time.Second

// A Log writes lines to a program's log. Its methods call the log's handler, which is a function
// of the program, so they must not be called under a lock. They are safe for concurrent use. Those
// of a nil Log do nothing.
type Log struct{ log *slog.Logger }

// NewLog returns a Log for the logger, nil for none.
func NewLog(log *slog.Logger) *Log {
	if log == nil {
		return nil
	}
	return &Log{log}
}

// Note writes a line, with a value for each of its attributes. Durations are rounded to
// milliseconds. A panic of the log costs the line.
func (l *Log) Note(line Line, values ...any) {
	if l == nil {
		return
	}
	for i, v := range values {
		if d, ok := v.(time.Duration); ok {
			values[i] = d.Round(time.Millisecond)
		}
	}
	var err error // there is nowhere to log a panic of the log
	defer Catch("slog.Handler", &err)
	l.log.Log(context.Background(), line.Level, line.Message, line.args(values)...)
}

// A Throttle says which of many like events are worth a line: the first one, and
// then one in five seconds at most. The zero value is ready; it is not safe for
// concurrent use.
type Throttle struct {
	last   time.Time
	events int // since then
}

// Due counts an event. It reports whether there is to be a line, and how many events
// that stands for: this one, and those since the last line.
func (t *Throttle) Due(now time.Time) (events int, due bool) {
	t.events++
	if !t.last.IsZero() && now.Sub(t.last) < spacing {
		return 0, false
	}
	events, t.events, t.last = t.events, 0, now
	return events, true
}

// Over says that what happened is over: the next line stands for no event before.
func (t *Throttle) Over() { t.events = 0 }
