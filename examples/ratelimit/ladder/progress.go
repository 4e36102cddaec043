package main

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
)

// progress says once a second how a step stands: on a terminal in one line that
// changes, elsewhere in lines. One goroutine uses it at a time.
type progress struct {
	w        io.Writer
	terminal bool
	printer  *message.Printer

	step, rate int
	takes      time.Duration
}

func newProgress(w io.Writer) *progress {
	file, isFile := w.(*os.File)
	return &progress{w: w, terminal: isFile && term.IsTerminal(int(file.Fd())), printer: message.NewPrinter(language.English)}
}

func (p *progress) begin(step, rate int, takes time.Duration) {
	p.step, p.rate, p.takes = step, rate, takes
	p.line("step %d: %d requests a second for %v", step, rate, takes)
}

func (p *progress) show(s load.Progress) {
	elapsed := s.Elapsed.Round(time.Second)
	if s.WarmingUp {
		p.line("step %d: %d/s, %v of %v (warm-up): %.0f/s answered, %d outstanding",
			p.step, p.rate, elapsed, p.takes, s.Rate, s.Outstanding)
		return
	}
	p.line("step %d: %d/s, %v of %v: %.0f/s answered, %d failed, %d outstanding, P99 %v",
		p.step, p.rate, elapsed, p.takes, s.Rate, s.Failed, s.Outstanding, s.P99.Round(10*time.Microsecond))
}

// line writes a line, which on a terminal takes the place of the last one.
func (p *progress) line(format string, args ...any) {
	text := p.printer.Sprintf(format, args...)
	if p.terminal {
		say(p.w, "\r%s\x1b[K", text)
		return
	}
	say(p.w, "%s\n", text)
}

// end leaves the cursor at the beginning of an empty line.
func (p *progress) end() {
	if p.terminal {
		say(p.w, "\r\x1b[K")
	}
}
