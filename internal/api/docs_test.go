package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testWord = regexp.MustCompile("`([a-z][a-z0-9/]*)`|\\b((?:Test|Fuzz)[A-Z]\\w*)")

// TestNamedTestsExist: a test that a row of the docs' tables names is in the package that
// the row names in front of it, so that no promise rests on a test that is gone.
func TestNamedTestsExist(t *testing.T) {
	tests := make(map[string]bool) // "package.Test", and ".Test" for rows that name no package
	for path, text := range files(t, "_test.go") {
		for _, name := range functions(text) {
			tests[filepath.Base(filepath.Dir(path))+"."+name] = true
			tests["."+name] = true
		}
	}
	pages, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	named := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			in := ""
			for _, m := range testWord.FindAllStringSubmatch(line, -1) {
				if m[1] != "" {
					in = filepath.Base(m[1])
					continue
				}
				named++
				if !tests[in+"."+m[2]] {
					t.Errorf("%s:%d names %s of package %q, which is not there", filepath.Base(page), i+1, m[2], in)
				}
			}
		}
	}
	require.Greater(t, named, 60, "the tables of docs/promises.md were read")
}

// TestPromisesHaveTests: each row of docs/promises.md names a test, or the page of its measurement.
func TestPromisesHaveTests(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/promises.md")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.ContainsAny(cells[0], "0123456789") {
			continue
		}
		rows++
		assert.Regexp(t, `Test[A-Z]|Fuzz[A-Z]|measured: \[`, cells[2], "promise %s", cells[0])
	}
	require.Greater(t, rows, 25)
}

var (
	apiLine     = regexp.MustCompile(`^(\w+): (?:method \(\*?(\w+)\) (\w+)|type (\w+) (?:struct|interface), (\w+)|\w+ (\w+))`)
	apiWords    = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	memberWords = regexp.MustCompile("`(?:[a-z]+\\.)?([A-Z]\\w*)\\.([A-Z]\\w*)\\b")
)

// TestNamesInDocsExist: what a page or a comment calls by the name of one of our packages is
// in api.txt, or in a nested module. So is a member that a page names with its type. The
// changelog also names what is gone.
func TestNamesInDocsExist(t *testing.T) {
	public := publicNames(t)
	checked, members := 0, 0
	for path, text := range files(t, "") {
		page := strings.HasSuffix(path, ".md")
		if filepath.Base(path) == "CHANGELOG.md" || !page && !strings.HasSuffix(path, ".go") {
			continue
		}
		for line := range strings.Lines(text) {
			if !page && !strings.HasPrefix(strings.TrimSpace(line), "//") || !strings.Contains(strings.TrimRight(line, ".\n"), ".") {
				continue
			}
			for _, m := range apiWords.FindAllStringSubmatch(line, -1) {
				if !public[m[1]] {
					continue
				}
				if checked++; !public[m[1]+"."+m[2]] {
					t.Errorf("%s names %s.%s, which is not in api.txt", path, m[1], m[2])
				}
			}
			if !page || strings.Contains(path, "migrate-") { // these name types of others as well
				continue
			}
			for _, m := range memberWords.FindAllStringSubmatch(line, -1) {
				if !public["."+m[1]] {
					continue
				}
				if members++; !public["."+m[1]+"."+m[2]] {
					t.Errorf("%s names %s.%s, which no package has", path, m[1], m[2])
				}
			}
		}
	}
	require.Greater(t, checked, 300)
	require.Greater(t, members, 50)
}

// apiLines returns the lines of api.txt, and those of the nested modules, matched by apiLine.
func apiLines(t *testing.T) (lines [][]string) {
	t.Helper()
	text, err := os.ReadFile(root + "/api.txt")
	require.NoError(t, err)
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, module := range []string{"otel", "limit/limitgrpc"} {
		more, err := names(filepath.Join(root, filepath.FromSlash(module)))
		require.NoError(t, err)
		all = append(all, more...)
	}
	for _, line := range all {
		m := apiLine.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		lines = append(lines, m)
	}
	return lines
}

// publicNames returns packages, "package.Name", "package.Type.Member", and, of any package,
// ".Type" and ".Type.Member".
func publicNames(t *testing.T) map[string]bool {
	t.Helper()
	public := make(map[string]bool)
	for _, m := range apiLines(t) {
		pkg, owner, member, name := m[1], m[2]+m[4], m[3]+m[5], m[6]
		for _, name := range []string{pkg, pkg + "." + owner + name, pkg + "." + owner + "." + member, "." + owner + name, "." + owner + "." + member} {
			public[name] = true
		}
	}
	return public
}

// ofInterfaces are methods that only other libraries call, and what api.txt says of types that embed
// another or cannot be implemented elsewhere.
var ofInterfaces = []string{"As", "Is", "Unwrap", "Error", "Format", "GoString", "String", "Collect", "Describe", "embeds", "is"}

// A place is the code of one page or example.
type place struct {
	page    bool
	names   map[string]bool // "package", "package.Name"
	members map[string]bool // other words with a capital; in an example only fields and methods
}

var (
	pageCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	pageWord = regexp.MustCompile(`(?:\b([a-z]+)\.)?\b([A-Z]\w*)`)
)

func newPlace(page bool) place {
	return place{page: page, names: make(map[string]bool), members: make(map[string]bool)}
}

func (p place) add(pkg, name string) { p.names[pkg], p.names[pkg+"."+name] = true, true }

// ofPage reads the code of a page. A word behind the name of a package is one of its names.
func (p place) ofPage(text string, public map[string]bool) {
	for _, code := range pageCode.FindAllString(text, -1) {
		for _, m := range pageWord.FindAllStringSubmatch(code, -1) {
			if public[m[1]] {
				p.add(m[1], m[2])
			} else {
				p.members[m[2]] = true
			}
		}
	}
}

// ofExample reads a Go file. Fields and methods are behind a dot, keys of a literal, or methods
// that the file declares.
func (p place) ofExample(t *testing.T, path, text string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	imported := make(map[string]bool)
	for _, spec := range file.Imports {
		name := filepath.Base(majorVersion.ReplaceAllString(strings.Trim(spec.Path.Value, `"`), ""))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = true
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && imported[of.Name] {
				p.add(of.Name, n.Sel.Name)
			} else {
				p.members[n.Sel.Name] = true
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				p.members[key.Name] = true
			}
		case *ast.FuncDecl:
			if n.Recv != nil {
				p.members[n.Name.Name] = true
			}
		}
		return true
	})
}

var majorVersion = regexp.MustCompile(`/v\d+$`)

// has reports whether the place names what a package exports. packages is how many packages have the
// name. If there is only one, a page that names the package elsewhere may leave it out.
func (p place) has(pkg, name string, packages map[string]int) bool {
	return p.names[pkg+"."+name] || p.page && p.members[name] && p.names[pkg] && packages[name] == 1
}

// places returns the pages of the docs, and the examples without their tests.
func places(t *testing.T, public map[string]bool) (all []place) {
	t.Helper()
	for path, text := range files(t, "") {
		name := filepath.Base(path)
		p := newPlace(strings.HasSuffix(path, ".md"))
		switch {
		case p.page && name != "CHANGELOG.md" && !strings.HasPrefix(path, root+"/bench/"):
			p.ofPage(text, public)
		case strings.HasSuffix(path, ".go") && strings.HasPrefix(name, "example"),
			strings.HasSuffix(path, ".go") && strings.HasPrefix(path, root+"/examples/") && !strings.HasSuffix(path, "_test.go"):
			p.ofExample(t, path, text)
		default:
			continue
		}
		all = append(all, p)
	}
	return all
}

// TestNamesAreShown: every exported name is in the code of a page of the docs or of a runnable
// example, where a newcomer meets it. These do not count:
//
//   - a word of prose,
//   - a name of another package, such as pprof.Index,
//   - a field or method in a place that does not name its type.
func TestNamesAreShown(t *testing.T) {
	lines, where := apiLines(t), places(t, publicNames(t))
	packages := make(map[string]int) // how many have the name
	for _, m := range lines {
		if m[6] != "" && m[0] != "pipeline: type Reply" { // another name of cluster.Reply
			packages[m[6]]++
		}
	}
	for _, m := range lines {
		pkg, owner, member, name := m[1], m[2]+m[4], m[3]+m[5], m[6]
		if slices.Contains(ofInterfaces, member) {
			continue
		}
		shown := slices.ContainsFunc(where, func(p place) bool {
			return p.has(pkg, owner+name, packages) && (member == "" || p.members[member])
		})
		if !shown {
			t.Errorf("%s is in no page of docs and in no example", strings.TrimSuffix(pkg+"."+owner+name+"."+member, "."))
		}
	}
}

func TestPlaces(t *testing.T) {
	example, page := newPlace(false), newPlace(true)
	example.ofExample(t, "example.go", `package main
import ("net/http/pprof"; "github.com/mediocregopher/radix/v4"; "github.com/redislanes/redislanes")
var _, _, _ = pprof.Index, radix.Cmd, redislanes.Error{Addr: "a"}.Since // Tries`)
	page.ofPage("Prose `redislanes.Error` `Error.Tries` `x.Index` `Slot`.", map[string]bool{"redislanes": true})
	one := map[string]int{"Error": 1, "Slot": 2}
	for _, p := range []place{example, page} {
		require.True(t, p.has("redislanes", "Error", one))
		require.False(t, p.has("redislanes", "Slot", one), "two packages have it")
		require.Equal(t, p.page, p.members["Index"])
	}
	require.Equal(t, map[string]bool{"Addr": true, "Since": true}, example.members)
	require.Equal(t, map[string]bool{"Error": true, "Tries": true, "Index": true, "Slot": true}, page.members)
	require.True(t, page.has("redislanes", "Tries", map[string]int{"Tries": 1}))
	require.False(t, page.has("pool", "Tries", map[string]int{"Tries": 1}), "the page does not name the package")
}
