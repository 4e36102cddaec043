// Command api prints every exported name of the library's public packages, one on
// each line, sorted: constants, variables, functions, types, their fields and
// methods. The file api.txt in the root of the repository is its output, so that a
// change of the public surface shows in a diff.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// run prints the names of all public packages of the module in the folder root.
func run(out io.Writer, root string) error {
	folders, err := public(root)
	if err != nil {
		return err
	}
	var lines []string
	for _, folder := range folders {
		of, err := names(filepath.Join(root, folder))
		if err != nil {
			return err
		}
		lines = append(lines, of...)
	}
	w := bufio.NewWriter(out)
	for _, line := range lines {
		_, _ = fmt.Fprintln(w, line) // Flush has the error
	}
	return w.Flush()
}

// public returns the folders of the module that other modules can import: none
// of an internal one, of test data, of an example, or of another module.
func public(root string) (folders []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if path != root {
			if name == "internal" || name == "testdata" || name == "bin" || name == "examples" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
				return fs.SkipDir
			}
		}
		folder, err := filepath.Rel(root, path)
		folders = append(folders, folder)
		return err
	})
	return folders, err
}

// names returns what the package in the folder exports; nothing if it is a
// command or has no Go files.
func names(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var p printer
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if p.pkg = file.Name.Name; p.pkg == "main" {
			return nil, nil
		}
		for _, decl := range file.Decls {
			p.decl(decl)
		}
	}
	slices.Sort(p.lines)
	return slices.Compact(p.lines), p.err // a file for each system may declare the same
}

// A printer collects the lines of one package.
type printer struct {
	pkg   string
	lines []string
	err   error
}

func (p *printer) line(text string, args ...any) {
	p.lines = append(p.lines, p.pkg+": "+fmt.Sprintf(text, args...))
}

// source prints a part of the syntax tree on one line.
func (p *printer) source(node ast.Node) string {
	var b strings.Builder
	if err := format.Node(&b, token.NewFileSet(), node); err != nil && p.err == nil {
		p.err = err
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (p *printer) decl(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		p.function(d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						p.line("%s %s", d.Tok, name)
					}
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					p.typ(s)
				}
			}
		}
	}
}

func (p *printer) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	signature := strings.TrimPrefix(p.source(d.Type), "func")
	if d.Recv == nil {
		p.line("func %s%s", d.Name, signature)
		return
	}
	if receiver := p.source(d.Recv.List[0].Type); token.IsExported(strings.TrimPrefix(receiver, "*")) {
		p.line("method (%s) %s%s", receiver, d.Name, signature)
	}
}

func (p *printer) typ(s *ast.TypeSpec) {
	switch t := s.Type.(type) {
	case *ast.StructType:
		p.line("type %s struct", s.Name)
		for _, f := range t.Fields.List {
			p.fields(s.Name.Name+" struct, ", f)
		}
	case *ast.InterfaceType:
		p.line("type %s interface", s.Name)
		for _, f := range t.Methods.List {
			p.fields(s.Name.Name+" interface, ", f)
		}
	default:
		assign := ""
		if s.Assign.IsValid() {
			assign = "= "
		}
		p.line("type %s %s%s", s.Name, assign, p.source(t))
	}
}

// fields prints the exported ones of a line of fields or methods, or what is
// embedded. Of an interface, methods that are not exported matter as well: nobody
// else can implement it.
func (p *printer) fields(of string, f *ast.Field) {
	if len(f.Names) == 0 {
		p.line("type %sembeds %s", of, p.source(f.Type))
	}
	method := strings.HasSuffix(of, " interface, ")
	for _, name := range f.Names {
		switch {
		case name.IsExported() && method:
			p.line("type %s%s%s", of, name, strings.TrimPrefix(p.source(f.Type), "func"))
		case name.IsExported():
			p.line("type %s%s %s", of, name, p.source(f.Type))
		case method:
			p.line("type %sis closed", of)
		}
	}
}
