package raw

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// format is the version of the lines.
const format = 1

// A line is one of three kinds, which have a field each.
type line struct {
	Start *start `json:"start,omitempty"` // the first line
	Turn  *turn  `json:"turn,omitempty"`
	End   *end   `json:"end,omitempty"` // the last one
}

type start struct {
	Format   int            `json:"format"`
	File     string         `json:"file"`
	Settings string         `json:"settings"` // the text of the file
	Machine  report.Machine `json:"machine"`
}

// A turn is what one endpoint did in one round.
type turn struct {
	Run      string         `json:"run"`
	Endpoint string         `json:"endpoint"`
	Phases   []*load.Result `json:"phases"`
}

type end struct {
	Redis       []string `json:"redis"`
	Interrupted bool     `json:"interrupted,omitempty"`
	Failure     string   `json:"failure,omitempty"`
}

// A Writer writes lines. A nil one does nothing.
type Writer struct {
	lines *json.Encoder
	err   error // the first one
}

// NewWriter returns a writer.
func NewWriter(w io.Writer) *Writer { return &Writer{lines: json.NewEncoder(w)} }

// Start writes the line of what is about to be measured, and where.
func (w *Writer) Start(f *settings.File, m report.Machine) {
	w.write(line{Start: &start{format, f.Name, string(f.Text), m}})
}

// Turn writes the line of one turn. Samples of the pools are left out where no
// figure is made of them.
func (w *Writer) Turn(run, endpoint string, phases []*load.Result) {
	if len(phases) == 1 {
		short := *phases[0]
		short.Use.Samples = nil
		phases = []*load.Result{&short}
	}
	w.write(line{Turn: &turn{run, endpoint, phases}})
}

// End writes the last line, and returns the first error of all.
func (w *Writer) End(r *report.Report) error {
	if w == nil {
		return nil
	}
	w.write(line{End: &end{r.Machine.Redis, r.Interrupted, r.Failure}})
	if w.err != nil {
		return fmt.Errorf("raw: %w", w.err)
	}
	return nil
}

func (w *Writer) write(l line) {
	if w != nil && w.err == nil {
		w.err = w.lines.Encode(l)
	}
}

// A reader makes a report of lines.
type reader struct {
	file   *settings.File
	report *report.Report
}

// Read makes the report of which the lines were written. Lines whose last one is
// missing are those of a process that was ended, and make a report that says so.
func Read(name string, from io.Reader) (*report.Report, error) {
	lines := json.NewDecoder(from)
	r := &reader{}
	ended := false
	for n := 1; ; n++ {
		var l line
		err := lines.Decode(&l)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && r.report != nil {
			break
		}
		if err == nil {
			err = r.add(l)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
		}
		ended = l.End != nil
	}
	if r.report == nil {
		return nil, fmt.Errorf("%s: has no lines: want a file that -raw wrote", name)
	}
	r.report.Interrupted = r.report.Interrupted || !ended
	r.report.Finish()
	return r.report, nil
}

func (r *reader) add(l line) error {
	switch {
	case (l.Start != nil) != (r.report == nil):
		return errors.New("want one line of the start, before all others")
	case l.Start != nil:
		return r.start(l.Start)
	case l.Turn != nil:
		return r.turn(l.Turn)
	case l.End != nil:
		r.report.Machine.Redis, r.report.Interrupted, r.report.Failure = l.End.Redis, l.End.Interrupted, l.End.Failure
		return nil
	default:
		return errors.New("is of no kind that is known")
	}
}

func (r *reader) start(s *start) (err error) {
	if s.Format != format {
		return fmt.Errorf("has format %d: want %d", s.Format, format)
	}
	if r.file, err = settings.Parse(s.File, []byte(s.Settings)); err != nil {
		return err
	}
	r.report = report.New(r.file)
	r.report.Machine = s.Machine
	return nil
}

func (r *reader) turn(t *turn) error {
	i := slices.IndexFunc(r.file.Runs, func(run settings.Run) bool { return run.Name == t.Run })
	if i < 0 {
		return fmt.Errorf("the settings have no run %q", t.Run)
	}
	at := slices.IndexFunc(r.report.Runs, func(run *report.Run) bool { return run.Name == t.Run })
	if at < 0 {
		at = len(r.report.Runs)
		r.report.Begin(r.file.Runs[i])
	}
	for _, e := range r.report.Runs[at].Endpoints {
		if e.Name == t.Endpoint {
			e.Add(t.Phases)
			return nil
		}
	}
	return fmt.Errorf("the run %q has no endpoint %q", t.Run, t.Endpoint)
}
