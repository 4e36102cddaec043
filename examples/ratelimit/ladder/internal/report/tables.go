package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redislanes/redislanes/bench/table"
	"github.com/redislanes/redislanes/internal/pages"
)

// Table makes a table of the pages from raw files, one of each ladder. "limits" has a row for
// each ladder, and "steps" a row for each of their steps.
func Table(t pages.Table) (string, error) {
	all := &table.Table{Head: append([]string{"keys", "leases"}, heads...)}
	if t.Name == "limits" {
		all.Head = []string{"keys", "leases", "holds", "breaks at", "recommended (80 %)", "P99 at the limit", "CPU: driver", "service", "Redis", "why it breaks"}
		all.Last = true
	} else if t.Name != "steps" {
		return "", errors.New("want limits or steps")
	}
	for _, file := range t.Files {
		r, err := Read(file)
		if err != nil {
			return "", err
		}
		of := []string{r.setting("keys"), "on"}
		if strings.Contains(r.setting("service"), "-no-leases") {
			of[1] = "off"
		}
		if t.Name == "limits" {
			all.Add(append(of, r.limit()...)...)
			continue
		}
		for i := range r.Steps {
			all.Add(append(of[:2:2], cells(&r.Steps[i])...)...)
		}
	}
	return all.String(), nil
}

// limit is where the ladder broke, and what its highest step that held was like.
func (r *Report) limit() []string {
	s := r.Summary
	row := []string{"none", "not reached", fmt.Sprint(s.Recommended), "-", "-", "-", "-", ""}
	if step := r.step(s.Limit); step != nil {
		row = append([]string{fmt.Sprint(s.Limit), row[1], row[2], duration(step.Latency.P99)}, append(cores(step), "")...)
	}
	if step := r.step(s.Breaking); step != nil {
		row[1], row[len(row)-1] = fmt.Sprint(s.Breaking), step.Why
	} else if s.Inconclusive > 0 {
		row[1], row[len(row)-1] = fmt.Sprint(s.Inconclusive), "inconclusive: the driver had too little CPU"
	}
	return row
}
