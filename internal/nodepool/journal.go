package nodepool

import (
	"log/slog"
	"time"

	"github.com/redislanes/redislanes/internal/health"
)

// What the log is told. Lines are noted under mu, and written by a goroutine of the
// journal.

// failAtOnce is what happens to commands for a server that is down or suspect.
const failAtOnce = "fail at once"

// note adds a line about the server.
func (p *Pool) note(level slog.Level, message string, args ...any) {
	p.journal.Note(level, message, append([]any{"addr", p.addr}, args...)...)
}

// noteStateLocked adds a line about what the server is. The pools beside the main one
// see the same.
func (p *Pool) noteStateLocked(level slog.Level, message string, args ...any) {
	if p.closed || p.retired {
		return
	}
	if p.beside() {
		level = slog.LevelDebug
	}
	p.note(level, message, args...)
}

// noteDialFailedLocked adds a line about the first connection that could not be had,
// and then one in five seconds at most.
func (p *Pool) noteDialFailedLocked(err error) {
	if p.closed || p.retired {
		return
	}
	if n, due := p.failures.Due(time.Now()); due {
		p.noteStateLocked(slog.LevelWarn, "dial failed", "failures", n, "error", err)
	}
}

// noteRetiredLocked adds a line about a server that the log knows to be down or suspect:
// there is no other that ends that. It must be called before the pool is retired.
func (p *Pool) noteRetiredLocked() {
	if p.health.State() != health.Up {
		p.noteStateLocked(slog.LevelInfo, "server not used any more", "after", time.Since(p.health.Since()))
	}
}

// noteOutageLocked adds a line when the server has become suspect or down, and when that
// has ended.
func (p *Pool) noteOutageLocked(was, is health.State) {
	after := time.Since(p.health.Since())
	switch {
	case is == health.Suspect:
		p.noteStateLocked(slog.LevelWarn, "server suspect: silent, and no answer over another connection", "commands", failAtOnce)
	case is == health.Down:
		p.noteStateLocked(slog.LevelWarn, "server down", "error", p.health.Failure().Err, "commands", failAtOnce)
	case was == health.Down:
		p.noteStateLocked(slog.LevelInfo, "server up again", "after", after)
	default:
		p.noteStateLocked(slog.LevelInfo, "server not suspect any more", "after", after)
	}
}
