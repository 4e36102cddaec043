package pages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// NotMeasured is what a page has in place of a table whose raw files are not there.
const NotMeasured = "Not measured yet: `make results` does it."

// A Table is what a comment asks for.
type Table struct {
	Program string
	Files   []string // as the comment has them
	Name    string
}

// Make returns the table as Markdown.
type Make func(Table) (string, error)

var (
	begins = regexp.MustCompile(`(?m)^<!-- made by (\S+) of ([^:\n]+): (.+) -->\n`)
	end    = "<!-- end -->"
)

// Fill returns the page with all tables and values of the program made again, and how many
// there are. Those of other programs are left as they are.
func Fill(page []byte, program string, tables Make) (filled []byte, made int, err error) {
	rest := bytes.ReplaceAll(page, []byte("\r\n"), []byte("\n"))
	for {
		at := begins.FindSubmatchIndex(rest)
		prose := rest
		if at != nil {
			prose = rest[:at[1]]
		}
		prose, values, err := fillValues(prose, program, tables)
		if err != nil {
			return nil, 0, err
		}
		filled, made = append(filled, prose...), made+values
		if at == nil {
			return filled, made, nil
		}
		body := rest[at[1]:]
		length := bytes.Index(body, []byte(end))
		if next := begins.FindIndex(body); length < 0 || next != nil && next[0] < length {
			return nil, 0, fmt.Errorf("%q has no %q", strings.TrimSpace(string(rest[at[0]:at[1]])), end)
		}
		t := Table{string(rest[at[2]:at[3]]), strings.Fields(string(rest[at[4]:at[5]])), string(rest[at[6]:at[7]])}
		if t.Program == program {
			text, err := tables(t)
			if err != nil {
				return nil, 0, fmt.Errorf("the table %s of %s: %w", t.Name, strings.Join(t.Files, " "), err)
			}
			filled = append(filled, "\n"+strings.TrimSpace(text)+"\n\n"...)
			made++
		} else {
			filled = append(filled, body[:length]...)
		}
		filled = append(filled, end...)
		rest = body[length+len(end):]
	}
}

// Of returns the pages of the folder: its Markdown files and those one level below, those
// beside the folder, and those of the folder docs beside it.
func Of(folder string) (all []string, err error) {
	for _, pattern := range []string{"*.md", "*/*.md", "../*.md", "../docs/*.md", "../docs/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}

// Rewrite makes the program's tables and values again in all pages of the folder. It reports
// which pages that changed, and writes them unless they are only to be checked.
func Rewrite(folder, program string, check bool, tables Make) (changed []string, err error) {
	names, err := Of(folder)
	if err != nil {
		return nil, err
	}
	all := 0
	for _, name := range names {
		page, err := os.ReadFile(name)
		if err != nil {
			return changed, err
		}
		filled, made, err := Fill(page, program, present(folder, tables))
		if err != nil {
			return changed, fmt.Errorf("%s: %w", name, err)
		}
		all += made
		if bytes.Equal(filled, bytes.ReplaceAll(page, []byte("\r\n"), []byte("\n"))) {
			continue
		}
		changed = append(changed, name)
		if check {
			continue
		}
		if err := os.WriteFile(name, filled, 0o644); err != nil {
			return changed, err
		}
	}
	if all == 0 {
		return nil, fmt.Errorf("no page in %s has a table or value made by %s", folder, program)
	}
	return changed, nil
}

// present gives the files their paths, and asks for tables only where there is a file
// for each name.
func present(folder string, tables Make) Make {
	return func(t Table) (string, error) {
		var paths []string
		for _, file := range t.Files {
			found, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(file)))
			if err == nil && len(found) == 0 {
				found, err = filepath.Glob(filepath.Join(folder, filepath.FromSlash(file)) + ".gz")
			}
			if err != nil {
				return "", err
			}
			if len(found) == 0 {
				return NotMeasured, nil
			}
			paths = append(paths, found...)
		}
		t.Files = paths
		return tables(t)
	}
}
