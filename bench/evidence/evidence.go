// Package evidence ties the tables of the pages to raw files: which commit each was measured
// on, and when.
package evidence

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/machine"
	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/rawfile"
)

// Rewrite makes the program's tables and pictures in the pages of the folder again, and prints
// which pages changed. It refuses a raw file if its commit is not an ancestor of the present one.
func Rewrite(w io.Writer, folder, program string, tables pages.Make, pictures pages.Draw) error {
	known := make(map[string]bool)
	check := func(files []string) (err error) {
		for _, file := range files {
			if !known[file] && err == nil {
				known[file], err = true, behind(file)
			}
		}
		return err
	}
	changed, err := pages.Rewrite(folder, program, false, func(t pages.Table) (string, error) {
		if err := check(t.Files); err != nil {
			return "", err
		}
		return Dated(tables)(t)
	})
	if pictures != nil {
		drawn, drawErr := pages.Redraw(folder, program, false, func(t pages.Table) ([]byte, error) {
			if err := check(t.Files); err != nil {
				return nil, err
			}
			return pictures(t)
		})
		changed, err = append(changed, drawn...), errors.Join(err, drawErr)
	}
	for _, name := range changed {
		_, _ = fmt.Fprintln(w, "wrote", name)
	}
	return err
}

// measured returns where a file was measured.
func measured(file string) (machine.Machine, error) {
	m, err := rawfile.Of(file)
	if err == nil && (m.Commit == "" || strings.HasSuffix(m.Commit, "+")) {
		err = fmt.Errorf("%s: was measured with changes that no commit has: %q", file, m.Commit)
	}
	return m, err
}

// Dated adds to each table when, and on which commit, its files were measured.
func Dated(tables pages.Make) pages.Make {
	return func(t pages.Table) (string, error) {
		text, err := tables(t)
		if err != nil || t.Name == "source" { // which says so itself
			return text, err
		}
		var days, commits []string
		for _, file := range t.Files {
			m, err := measured(file)
			if err != nil {
				return "", err
			}
			days, commits = append(days, m.Date.UTC().Format(time.DateOnly)), append(commits, m.Commit)
		}
		slices.Sort(days)
		slices.Sort(commits)
		between := days[0]
		if last := days[len(days)-1]; last != between {
			between += " to " + last
		}
		return fmt.Sprintf("%s\n\nMeasured %s on %s.\n", strings.TrimSpace(text), between, strings.Join(slices.Compact(commits), ", ")), nil
	}
}

// behind reports an error if the present commit does not come from that of a raw file.
func behind(file string) error {
	m, err := measured(file)
	if err == nil && exec.Command("git", "merge-base", "--is-ancestor", m.Commit, "HEAD").Run() != nil {
		err = fmt.Errorf("%s: commit %s is no ancestor of the present one: measure again", file, m.Commit)
	}
	return err
}
