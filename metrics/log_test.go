package metrics_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notes are the functions that take a line for the log: a level, a message, and
// attributes.
var notes = []string{"Note", "note", "noteStateLocked"}

// passedOn are the messages that are no literals where they are noted, by the names
// of what holds them. Those of functions that pass lines on are none.
var passedOn = map[string][]string{"how": {"isOver", "isForgotten"}, "message": nil}

// A logLine is what the log may be told: its level, "" if that depends, and the names
// of its attributes.
type logLine struct {
	level string
	attrs []string
}

// TestDocsHaveEveryLogLine compares the table in docs/metrics.md with the code.
func TestDocsHaveEveryLogLine(t *testing.T) {
	lines := make(map[string]logLine)
	for _, folder := range []string{"engine", "guard", "nodepool", "wire"} {
		maps.Copy(lines, logLines(t, filepath.Join("../internal", folder)))
	}
	require.Greater(t, len(lines), 15, "the code has lines")
	rows := logRows(t)
	for message, line := range lines {
		row, ok := rows[message]
		require.True(t, ok, "docs/metrics.md lacks the line %q", message)
		if line.level != "" {
			require.Equal(t, line.level, row[1], message)
		}
		for _, attr := range line.attrs {
			require.Contains(t, row[3], "`"+attr+"`", "attributes of %q", message)
		}
	}
	for message := range rows {
		require.Contains(t, slices.Collect(maps.Keys(lines)), message, "docs/metrics.md has a line that nobody writes")
	}
}

// logRows returns the rows of the table by their messages, of which there may be
// several in one row.
func logRows(t *testing.T) map[string][]string {
	text, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## The log\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	rows := make(map[string][]string)
	message := regexp.MustCompile("`([^`]+)`")
	for row := range strings.Lines(section) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		cells := strings.Split(strings.TrimSpace(row), "|")[1:]
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		for _, m := range message.FindAllStringSubmatch(cells[0], -1) {
			rows[m[1]] = cells
		}
	}
	return rows
}

// logLines returns what the package in the folder writes into the log.
func logLines(t *testing.T, folder string) map[string]logLine {
	lines, constants := make(map[string]logLine), make(map[string]string)
	each := func(f func(ast.Node)) {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			ast.Inspect(file, func(n ast.Node) bool { f(n); return true })
			return err
		})
		require.NoError(t, err)
	}
	each(func(n ast.Node) {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
			if text, ok := literal(v.Values[0]); ok {
				constants[v.Names[0].Name] = text
			}
		}
	})
	each(func(n ast.Node) {
		args := lineOf(n)
		if len(args) < 2 {
			return
		}
		line := logLine{level: levelOf(args[0])}
		for i := 2; i < len(args); i += 2 {
			if attr, ok := literal(args[i]); ok {
				line.attrs = append(line.attrs, attr)
			}
		}
		if text, ok := literal(args[1]); ok {
			lines[text] = line
			return
		}
		variable, _ := args[1].(*ast.Ident)
		require.NotNil(t, variable, "a message of another kind in %s", folder)
		names, ok := passedOn[variable.Name]
		require.True(t, ok, "%s: the message in %s", folder, variable.Name)
		for _, name := range names {
			require.NotEmpty(t, constants[name], name)
			lines[constants[name]] = line
		}
	})
	return lines
}

// lineOf returns the level, the message and the attributes, if n makes a line for the
// log.
func lineOf(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		switch {
		case !ok:
		case slices.Contains(notes, f.Sel.Name) && len(n.Args) > 1 && isLevel(n.Args[0]):
			return n.Args
		case f.Sel.Name == "Error" && len(n.Args) > 1: // of a slog.Logger
			return append([]ast.Expr{&ast.SelectorExpr{X: ast.NewIdent("slog"), Sel: ast.NewIdent("LevelError")}}, n.Args...)
		}
	case *ast.CompositeLit:
		if of, ok := n.Type.(*ast.Ident); !ok || of.Name != "line" || len(n.Elts) != 3 {
			return nil
		}
		if attrs, ok := n.Elts[2].(*ast.CompositeLit); ok {
			return append(slices.Clone(n.Elts[:2]), attrs.Elts...)
		}
	}
	return nil
}

// isLevel reports whether e is a slog.Level, or a variable for one: other functions are
// called note, too.
func isLevel(e ast.Expr) bool {
	if variable, ok := e.(*ast.Ident); ok {
		return variable.Name == "level"
	}
	return levelOf(e) != ""
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// levelOf returns the word for slog.LevelInfo and the like, "" for anything else.
func levelOf(e ast.Expr) string {
	level, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if of, ok := level.X.(*ast.Ident); !ok || of.Name != "slog" {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(level.Sel.Name, "Level"))
}
