package main

import (
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// repository returns the texts of the repository's files. Almost every test here wants them.
var repository = sync.OnceValues(func() (map[string]string, error) {
	all := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bin" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	return all, err
})

// files returns the texts of the files in the repository whose names end in the suffix, by name.
func files(t *testing.T, suffix string) map[string]string {
	t.Helper()
	all, err := repository()
	require.NoError(t, err)
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(path, _ string) bool { return !strings.HasSuffix(path, suffix) })
	require.NotEmpty(t, some)
	return some
}

// functions returns the names of the functions that a Go file declares, which are no methods.
func functions(text string) (names []string) {
	for line := range strings.Lines(text) {
		declared, found := strings.CutPrefix(line, "func ")
		if name, _, _ := strings.Cut(declared, "("); found && name != "" {
			names = append(names, name)
		}
	}
	return names
}

var (
	fence   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	noName  = regexp.MustCompile(`[^\p{L}\p{N}\- _]`) // what the name of a heading leaves out
)

// anchors returns the names by which links reach the headings of a page, as GitHub makes them.
func anchors(page string) map[string]bool {
	all := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		name := strings.ToLower(link.ReplaceAllString(m[1], ""))
		name = noName.ReplaceAllString(name, "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}

// TestLinks: each relative link of a page leads to a file, and to a heading if it names one.
func TestLinks(t *testing.T) {
	pages, checked := files(t, ".md"), 0
	named := make(map[string]map[string]bool) // the anchors of pages
	for path, text := range pages {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			to, err := url.Parse(m[1])
			require.NoError(t, err, "%s: %s", path, m[1])
			if to.IsAbs() {
				continue
			}
			checked++
			target := path
			if to.Path != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(to.Path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
				continue
			}
			if to.Fragment != "" && named[target] == nil {
				named[target] = anchors(pages[target])
			}
			if to.Fragment != "" && !named[target][to.Fragment] {
				t.Errorf("%s links to %s, a heading that is not there", path, m[1])
			}
		}
	}
	require.Greater(t, checked, 150)
}

// TestHintsNameHeadings: pages that rules, scripts and Go code name are there.
func TestHintsNameHeadings(t *testing.T) {
	folders := []string{"docs", "bench", "monitoring", "examples"}
	named := regexp.MustCompile(`\b(?:` + strings.Join(folders, "|") + `)/[\w/-]+\.(?:md|yaml|json|sh)\b`)
	for _, suffix := range []string{".go", ".yaml", ".sh", ".json", "Makefile", ".yml"} {
		for path, text := range files(t, suffix) {
			for _, name := range named.FindAllString(linesWith(text, folders), -1) {
				_, err := os.Stat(filepath.Join(root, name))
				_, beside := os.Stat(filepath.Join(filepath.Dir(path), name))
				if err != nil && beside != nil {
					t.Errorf("%s names %s, which is not there", path, name)
				}
			}
		}
	}
}

// linesWith returns the lines of a text that contain one of the folders. To look for regular expressions
// in all lines takes far longer.
func linesWith(text string, folders []string) string {
	var some strings.Builder
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(folders, func(f string) bool { return strings.Contains(line, f+"/") }) {
			some.WriteString(line)
		}
	}
	return some.String()
}

// TestCodeInPages: each paragraph of Go code in README.md, in docs and in monitoring is in a Go file that is
// compiled, such as docs/examples_test.go.
func TestCodeInPages(t *testing.T) {
	words := func(code string) string { return strings.Join(strings.Fields(code), " ") }
	var code strings.Builder
	for _, text := range files(t, ".go") {
		code.WriteString(words(text) + "\n")
	}
	checked := 0
	for path, text := range files(t, ".md") {
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] != "go" {
				continue
			}
			for paragraph := range strings.SplitSeq(m[2], "\n\n") {
				if checked++; !strings.Contains(code.String(), words(paragraph)) {
					t.Errorf("%s has code that no Go file has:\n%s", path, paragraph)
				}
			}
		}
	}
	require.Greater(t, checked, 30)
}

var (
	inline   = regexp.MustCompile("`([^`\n]+)`")
	variable = regexp.MustCompile(`^([A-Z]+)=(.*)$`)
	packages = regexp.MustCompile(`^(?:\.|\./[\w./-]+)$`)
	quoted   = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	selected = regexp.MustCompile(`-(?:run|bench)[ \x01=]'?\^?([\w|]+)`)
	goal     = regexp.MustCompile(`^[a-z]+$`) // of make
	script   = regexp.MustCompile(`^(?:scripts|monitoring|examples|\.ci)/[\w./-]+$`)
)

// TestCommandsInPages: a command of a page names targets and variables of the Makefile, scripts
// and packages that are there, and tests that some package has.
func TestCommandsInPages(t *testing.T) {
	makefile, err := os.ReadFile(root + "/Makefile")
	require.NoError(t, err)
	tests := new(strings.Builder)
	for _, text := range files(t, "_test.go") {
		for _, name := range functions(text) {
			tests.WriteString(name + "\n")
		}
	}
	checked := 0
	for path, text := range files(t, ".md") {
		var commands []string
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] == "" || m[1] == "sh" {
				commands = append(commands, strings.Split(m[2], "\n")...)
			}
		}
		for _, m := range inline.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			commands = append(commands, m[1])
		}
		for _, command := range commands {
			command, _, _ = strings.Cut(strings.TrimPrefix(command, "$ "), " #")
			command = quoted.ReplaceAllStringFunc(command, func(s string) string { return strings.ReplaceAll(s, " ", "\x01") })
			for part := range strings.SplitSeq(command, "&&") {
				if problem, known := wrong(strings.Fields(part), filepath.Dir(path), string(makefile)); problem != "" {
					t.Errorf("%s: %q: %s", path, part, problem)
				} else if known {
					checked++
					for _, m := range selected.FindAllStringSubmatch(part, -1) {
						for name := range strings.SplitSeq(m[1], "|") {
							if !strings.EqualFold(name, "xxx") && name != "TestYourFault" && !strings.Contains(tests.String(), name) {
								t.Errorf("%s: %q: no test or benchmark has %s in its name", path, part, name)
							}
						}
					}
				}
			}
		}
	}
	require.Greater(t, checked, 60)
}

// wrong says what is wrong with a command of a page in the folder. It knows make, go and our scripts.
func wrong(command []string, folder, makefile string) (problem string, known bool) {
	for len(command) > 0 && variable.MatchString(command[0]) { // of the environment
		command = command[1:]
	}
	if len(command) == 0 {
		return "", false
	}
	there := func(from, name string) bool {
		_, err := os.Stat(filepath.Join(from, filepath.FromSlash(name)))
		return err == nil
	}
	switch name := command[0]; {
	case name == "make":
		for _, word := range command[1:] {
			m := variable.FindStringSubmatch(word)
			switch {
			case m != nil && m[1] == "F" && !there(root, m[2]):
				return m[2] + " is not there", true
			case m != nil && !strings.Contains(makefile, "$("+m[1]+")") && !strings.HasPrefix(m[1], "REDISLANES"):
				return "the Makefile has no " + m[1], true
			case m == nil && goal.MatchString(word) && !strings.Contains(makefile, "\n"+word+": "):
				return "the Makefile has no target " + word, true
			}
		}
		return "", true
	case name == "go" && len(command) > 2:
		from := folder
		rest := command[1:]
		if rest[0] == "-C" {
			from, rest = filepath.Join(root, rest[1]), rest[2:]
		}
		if !slices.Contains([]string{"run", "test", "vet", "build"}, rest[0]) {
			return "", false
		}
		for _, word := range rest[1:] {
			if packages.MatchString(word) && !there(from, word) && !there(from, "../"+word) && !there(root, word) && !strings.Contains(word, "...") {
				return word + " is not there", true
			}
		}
		return "", true
	case script.MatchString(name):
		if !there(root, name) && !there(folder, name) {
			return name + " is not there", true
		}
		return "", true
	}
	return "", false
}
