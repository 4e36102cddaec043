package nodepool

import (
	"log/slog"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
)

// What the log is told. Lines are noted under mu, and written by the goroutine that unlocks it.

// failAtOnce is what happens to commands for a server that is down or suspect.
const failAtOnce = "fail at once"

// noteStateLocked adds a line about what the server is, with its address and these values.
// The pools beside the main one see the same.
func (p *Pool) noteStateLocked(line guard.Line, values ...any) {
	if p.closed || p.retired {
		return
	}
	if p.beside() {
		line.Level = slog.LevelDebug
	}
	p.mu.calls = append(p.mu.calls, func() { p.log.Note(line, append([]any{p.addr}, values...)...) })
}

// noteDialFailedLocked adds a line about the first connection that could not be had,
// and then one in five seconds at most.
func (p *Pool) noteDialFailedLocked(err error) {
	if p.closed || p.retired {
		return
	}
	if n, due := p.failures.Due(time.Now()); due {
		p.noteStateLocked(guard.DialFailed, n, err)
	}
}

// noteOutageLocked adds a line when the server has become suspect or down, and when that
// has ended.
func (p *Pool) noteOutageLocked(was, is health.State) {
	after := time.Since(p.health.Since())
	switch {
	case is == health.Suspect:
		p.noteStateLocked(guard.ServerSuspect, failAtOnce)
	case is == health.Down:
		p.noteStateLocked(guard.ServerDown, p.health.Failure().Err, failAtOnce)
	case was == health.Down:
		p.noteStateLocked(guard.ServerUp, after)
	default:
		p.noteStateLocked(guard.ServerNotSuspect, after)
	}
}
