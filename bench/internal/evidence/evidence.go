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

	"github.com/redislanes/redislanes/bench/internal/rawfile"
)

// lost are commits that the repository does not have, of files that are to be measured again.
// The list only shrinks.
var lost = []string{"8312a0f15ebe", "c25cfea7b945"}

// Rewrite makes the program's tables and pictures in the pages of the folder again, and prints
// which pages changed and what they rest on.
func Rewrite(w io.Writer, folder, program string, tables pages.Make, pictures pages.Draw) error {
	used := make(sources)
	changed, err := pages.Rewrite(folder, program, false, used.Dated(tables))
	if pictures != nil {
		drawn, drawErr := pages.Redraw(folder, program, false, pictures)
		changed, err = append(changed, drawn...), errors.Join(err, drawErr)
	}
	for _, name := range changed {
		_, _ = fmt.Fprintln(w, "wrote", name)
	}
	return errors.Join(err, used.print(w))
}

// Dated adds to each table when, and on which commit, its files were measured.
func Dated(tables pages.Make) pages.Make { return make(sources).Dated(tables) }

// sources are where the files of the tables were measured.
type sources map[string]machine.Machine

// Dated is Dated, which notes the files.
func (s sources) Dated(tables pages.Make) pages.Make {
	return func(t pages.Table) (string, error) {
		text, err := tables(t)
		if err != nil {
			return "", err
		}
		note, err := s.note(t.Files)
		if err != nil {
			return "", err
		}
		if t.Name == "source" { // it says so itself
			return text, nil
		}
		return strings.TrimSpace(text) + "\n\nMeasured " + note + ".\n", nil
	}
}

// note is such as "2026-11-24 on 136015f703d5".
func (s sources) note(files []string) (string, error) {
	var days, commits []string
	for _, file := range files {
		m, known := s[file]
		if !known {
			var err error
			if m, err = rawfile.Of(file); err != nil {
				return "", err
			}
			if m.Commit == "" || strings.HasSuffix(m.Commit, "+") {
				return "", fmt.Errorf("%s: was measured with changes that no commit has: %q", file, m.Commit)
			}
			s[file] = m
		}
		days, commits = append(days, m.Date.UTC().Format(time.DateOnly)), append(commits, m.Commit)
	}
	slices.Sort(days)
	slices.Sort(commits)
	days, commits = slices.Compact(days), slices.Compact(commits)
	text := days[0]
	if len(days) > 1 {
		text += " to " + days[len(days)-1]
	}
	return text + " on " + strings.Join(commits, ", "), nil
}

// print says how old each file is, and returns an error if one names a commit that is not
// behind the present one.
func (s sources) print(w io.Writer) error {
	var errs []error
	for _, file := range slices.Sorted(maps.Keys(s)) {
		m := s[file]
		age, err := Behind(m.Commit)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
		_, _ = fmt.Fprintf(w, "%s: measured %s on %s, %s\n", file, m.Date.UTC().Format(time.DateOnly), m.Commit, age)
	}
	return errors.Join(errs...)
}

// Behind says how far a commit is behind the present one. It is an error if it is no ancestor,
// unless it is known to be lost.
func Behind(commit string) (string, error) {
	if err := exec.Command("git", "merge-base", "--is-ancestor", commit, "HEAD").Run(); err != nil {
		if slices.Contains(lost, commit) {
			return "a commit that is lost: measure again", nil
		}
		return "?", fmt.Errorf("commit %s is no ancestor of the present one: measure again", commit)
	}
	count, err := exec.Command("git", "rev-list", "--count", commit+"..HEAD").Output()
	if err != nil {
		return "?", err
	}
	return strings.TrimSpace(string(count)) + " commits ago", nil
}
