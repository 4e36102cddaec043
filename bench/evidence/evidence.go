// Package evidence ties the tables of the pages to raw files: which commit each was measured
// on, and when.
package evidence

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/machine"
	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/rawfile"
)

// Rewrite makes the program's tables and pictures in the pages of the folder again, and prints
// which pages changed and how old their raw files are. It refuses a file whose commit is not
// behind the present one.
func Rewrite(w io.Writer, folder, program string, tables pages.Make, pictures pages.Draw) error {
	ages := make(map[string]string)
	used := func(files []string) error {
		for _, file := range files {
			if ages[file] != "" {
				continue
			}
			m, err := measured(file)
			if err != nil {
				return err
			}
			age, err := Behind(m.Commit)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			ages[file] = fmt.Sprintf("measured %s on %s, %s", m.Date.UTC().Format(time.DateOnly), m.Commit, age)
		}
		return nil
	}
	changed, err := pages.Rewrite(folder, program, false, func(t pages.Table) (string, error) {
		if err := used(t.Files); err != nil {
			return "", err
		}
		return Dated(tables)(t)
	})
	if pictures != nil {
		drawn, drawErr := pages.Redraw(folder, program, false, func(t pages.Table) ([]byte, error) {
			if err := used(t.Files); err != nil {
				return nil, err
			}
			return pictures(t)
		})
		changed, err = append(changed, drawn...), errors.Join(err, drawErr)
	}
	for _, file := range slices.Sorted(maps.Keys(ages)) {
		_, _ = fmt.Fprintf(w, "%s: %s\n", file, ages[file])
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

// Behind says how far a commit is behind the present one. It is an error if it is no ancestor.
func Behind(commit string) (string, error) {
	if err := exec.Command("git", "merge-base", "--is-ancestor", commit, "HEAD").Run(); err != nil {
		return "?", fmt.Errorf("commit %s is no ancestor of the present one: measure again", commit)
	}
	count, err := exec.Command("git", "rev-list", "--count", commit+"..HEAD").Output()
	if err != nil {
		return "?", err
	}
	return strings.TrimSpace(string(count)) + " commits ago", nil
}
