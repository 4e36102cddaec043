package nodepool

import "log/slog"

// A log may be slow, and what it is told is decided under mu, by goroutines on which
// callers and the judgement of the server depend. So lines are noted, and a
// goroutine of its own writes them while there are any.

// maxLines bounds the lines that wait for the log. Further ones are dropped.
const maxLines = 1024

type line struct {
	level   slog.Level
	message string
	args    []any
}

type journal struct {
	lines   []line
	writing bool
}

func (p *Pool) noteLocked(level slog.Level, message string, args ...any) {
	if len(p.journal.lines) >= maxLines {
		return
	}
	p.journal.lines = append(p.journal.lines, line{level, message, append([]any{"addr", p.addr}, args...)})
	if !p.journal.writing {
		p.journal.writing = true
		p.tasks.Go(p.writeJournal)
	}
}

func (p *Pool) writeJournal() {
	for {
		p.mu.Lock()
		lines := p.journal.lines
		p.journal.lines = nil
		p.journal.writing = len(lines) > 0
		p.mu.Unlock()
		if len(lines) == 0 {
			return
		}
		for _, l := range lines {
			p.log.Log(p.ctx, l.level, l.message, l.args...)
		}
	}
}
