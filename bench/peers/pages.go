package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redislanes/redislanes/internal/pages"
)

// tableOf makes a table of the pages from raw files: one of
//
//	source        what was measured, and with what
//	callers N     the figures for a number of callers
//	goals         which goals are reached
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
	switch n, _ := fmt.Sscanf(t.Name, "callers %d", &callers); {
	case n == 1:
		text = r.figures(callers).String()
	case t.Name == "goals":
		goals, reached := r.goals()
		text = goals.String() + "\n" + reached
	case t.Name == "cuts":
		text = r.cutTable().String()
	case t.Name == "source":
		for _, s := range r.starts {
			text += "- " + s.String() + "\n"
		}
	default:
		return "", errors.New("want one of source, callers N, goals and cuts")
	}
	if text == "" {
		return "", errors.New("the raw files have nothing for it")
	}
	return text, nil
}
