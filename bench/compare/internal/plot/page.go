package plot

import (
	"bytes"
	"fmt"

	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

// A Drawing is a figure as an SVG element of a page.
type Drawing struct {
	Title string
	SVG   []byte
}

// Over draws the figures over settings that were varied.
func Over(r *report.Report) ([]Drawing, error) {
	figures, err := overSettings(r)
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	return drawings(figures)
}

// OfRun draws the figures of one run.
func OfRun(run *report.Run) ([]Drawing, error) {
	figures, err := ofRun("", run)
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	return drawings(figures)
}

func drawings(figures []*figure) (all []Drawing, err error) {
	for _, f := range figures {
		text, err := f.narrow()
		if err != nil {
			return nil, fmt.Errorf("plot: %w", err)
		}
		all = append(all, Drawing{f.title, text[bytes.Index(text, []byte("<svg")):]}) // without the head of a file
	}
	return all, nil
}
