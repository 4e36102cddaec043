package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/pages"
)

// ratioFigures have goals.
var ratioFigures = []figure{rate, p99, cpu}

// tableOf makes a table of the pages from raw files: one of
//
//	source        what was measured, and with what
//	callers N     the figures for a number of callers
//	goals         which goals are reached
//	reached       how many
//	rows          a row for each load and client, of files that may have other numbers of primaries
//	bounds        what the goals for rates leave to a client
//	parts         what clients spend their time on
//	WHO to others, FIGURE, and
//	WHO to ours, FIGURE: the ratios of one of ours, over callers
//	cuts          what became of commands when connections were cut
func tableOf(t pages.Table) (string, error) {
	r, err := readRaw(t.Files)
	if err != nil {
		return "", err
	}
	for _, s := range r.starts {
		if s.Machine.Commit == "" || strings.HasSuffix(s.Machine.Commit, "+") {
			return "", fmt.Errorf("was measured with changes that no commit has: %q", s.Machine.Commit)
		}
	}
	text := ""
	var callers int
	n, _ := fmt.Sscanf(t.Name, "callers %d", &callers)
	sides, of, isRatio := strings.Cut(t.Name, ", ")
	who, beside, _ := strings.Cut(sides, " to ")
	switch {
	case n == 1:
		text = r.figures(callers).String()
	case isRatio && (beside == "ours" || beside == "others"):
		f := slices.IndexFunc(ratioFigures, func(f figure) bool { return f.name == of })
		if f < 0 {
			return "", fmt.Errorf("no ratios of %s", of)
		}
		text = r.ratios(who, beside == "ours", ratioFigures[f]).String()
	case t.Name == "reached":
		_, text = r.goals()
	case t.Name == "goals":
		goals, reached := r.goals()
		text = goals.String() + "\n" + reached
	case t.Name == "rows":
		return rowsOf(t.Files)
	case t.Name == "bounds":
		text = r.bounds().String()
	case t.Name == "parts":
		text = r.partTable().String()
	case t.Name == "cuts":
		text = r.cutTable().String()
	case t.Name == "source":
		for _, s := range r.starts {
			text += "- " + s.String() + "\n"
		}
	default:
		return "", errors.New("want one of source, callers N, goals, reached, rows, bounds, parts, cuts, and WHO to others, FIGURE")
	}
	if text == "" {
		return "", errors.New("the raw files have nothing for it")
	}
	return text, nil
}
