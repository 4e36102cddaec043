package guard

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxLines bounds the lines that wait for a log. Further ones are dropped, and counted.
	maxLines = 1024

	// spacing is the least time between two lines of a [Throttle].
	spacing = 5 * time.Second
)

// A Journal writes lines to a log. That may be slow, or not return, and what it is
// told is decided under locks, by goroutines on which callers and the judgement of
// servers depend. So lines are noted, and a goroutine of its own writes them while
// there are any. Make it with [NewJournal]. All methods are safe for concurrent use;
// those of a nil Journal do nothing.
type Journal struct {
	log *slog.Logger

	mu      sync.Mutex // guards what follows; nothing else is locked, and nobody called, under it
	lines   []line
	dropped int // for want of room, and not told yet
	writing bool
	closed  bool
	ended   chan struct{} // closed once the journal is closed and all its lines are written
}

type line struct {
	Line
	values []any
}

// NewJournal returns a journal for the log, nil for none. A panic of the log costs the line.
func NewJournal(log *slog.Logger) *Journal {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Journal{log: log, ended: make(chan struct{})}
}

// Note adds a line, with a value for each of its attributes. Durations are rounded to
// milliseconds. It never blocks.
func (j *Journal) Note(l Line, values ...any) {
	if j == nil || j.log.Handler() == slog.DiscardHandler {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return
	case len(j.lines) >= maxLines:
		j.dropped++
		return
	}
	for i, v := range values {
		if d, ok := v.(time.Duration); ok {
			values[i] = d.Round(time.Millisecond)
		}
	}
	j.lines = append(j.lines, line{l, values})
	if !j.writing {
		j.writing = true
		go j.write()
	}
}

func (j *Journal) write() {
	for {
		lines := j.take()
		if len(lines) == 0 {
			return
		}
		for _, l := range lines {
			j.tell(l)
		}
	}
}

func (j *Journal) tell(l line) {
	var err error // there is nowhere to log a panic of the log
	defer Catch("slog.Handler", &err)
	j.log.Log(context.Background(), l.Level, l.Message, l.args(l.values)...)
}

// take returns the lines that are to be written. If there are none, the goroutine
// that writes ends.
func (j *Journal) take() []line {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	if j.dropped > 0 { // behind the lines that they came after
		lines = append(lines, line{LinesDropped, []any{j.dropped}})
		j.dropped = 0
	}
	if len(lines) == 0 {
		j.writing = false
		j.endLocked()
	}
	return lines
}

// Close makes the journal take no further lines. The channel is closed when all
// that it has taken are written.
func (j *Journal) Close() (written <-chan struct{}) {
	if j == nil {
		none := make(chan struct{})
		close(none)
		return none
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		j.endLocked()
	}
	return j.ended
}

// endLocked tells the callers of Close of the end, if it has come.
func (j *Journal) endLocked() {
	if j.closed && !j.writing {
		close(j.ended)
	}
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
