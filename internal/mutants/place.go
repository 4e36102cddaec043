package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// A place is a declaration of the library: a function, a method, a constant or a variable.
type place struct {
	name   string // as the row writes it
	file   string
	source []byte
	base   token.Pos // of the first byte of source
	node   ast.Node  // *ast.FuncDecl or *ast.ValueSpec
}

// find returns the declaration with a name such as "internal/engine.client.refresh":
// the directory of the package, the receiver's type if there is one, and the name. The directory of
// package redislanes is empty, as in ".Error.Error".
func find(name string) (*place, error) {
	last := strings.LastIndexByte(name, '/') + 1
	dir, decl, _ := strings.Cut(name[last:], ".")
	dir = path.Join(name[:last], dir)
	files, err := sources(dir)
	if err != nil {
		return nil, err
	}
	var found []*place
	for _, file := range files {
		in, err := search(file, decl)
		if err != nil {
			return nil, err
		}
		found = append(found, in...)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s: %d declarations have this name, not one", name, len(found))
	}
	found[0].name = name
	return found[0], nil
}

// Hundreds of mutants are of a few packages, which are read once. Nothing here runs beside another.
var (
	listed = make(map[string][]string) // the files of packages, by their directories
	read   = make(map[string]*source)  // by their names
)

// A source is a file, parsed when somebody looks for a declaration that may be in it.
type source struct {
	text   []byte
	parsed *ast.File
}

// sources returns the files of the package that this system compiles, without its tests.
func sources(dir string) ([]string, error) {
	if files, found := listed[dir]; found {
		return files, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	files = slices.DeleteFunc(files, func(file string) bool {
		ok, err := build.Default.MatchFile(dir, filepath.Base(file))
		return err != nil || !ok || strings.HasSuffix(file, "_test.go")
	})
	if err == nil {
		listed[dir] = files
	}
	return files, err
}

// parse returns the file, parsed if it has the word, and nil if not.
func parse(file, word string) (*source, error) {
	s := read[file]
	if s == nil {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s = &source{text: text}
		read[file] = s
	}
	if !strings.Contains(string(s.text), word) {
		return nil, nil
	}
	var err error
	if s.parsed == nil {
		s.parsed, err = parser.ParseFile(token.NewFileSet(), file, s.text, parser.SkipObjectResolution)
	}
	return s, err
}

// search returns the declarations of the file with the name.
func search(file, name string) ([]*place, error) {
	s, err := parse(file, name[strings.IndexByte(name, '.')+1:])
	if s == nil || err != nil {
		return nil, err
	}
	var found []*place
	add := func(n ast.Node) {
		found = append(found, &place{file: file, source: s.text, base: s.parsed.FileStart, node: n})
	}
	for _, d := range s.parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if method(d) == name && d.Body != nil {
				add(d)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return n.Name == name }) {
					add(v)
				}
			}
		}
	}
	return found, nil
}

// method returns the name of a function, behind that of its receiver's type.
func method(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// text returns the source of the node.
func (p *place) text(n ast.Node) string {
	return string(p.source[n.Pos()-p.base : n.End()-p.base])
}

// A candidate is a node that an operator may change, and where the words that
// choose it may be.
type candidate struct {
	node ast.Node
	in   []ast.Node
}

// choose returns the candidate that mentions all of the words. Of candidates inside each other,
// the smallest counts. It fails unless one is left.
func (p *place) choose(operator string, all []candidate, words []string) (ast.Node, error) {
	match := slices.DeleteFunc(all, func(c candidate) bool {
		return slices.ContainsFunc(words, func(word string) bool { return !p.mentions(c.in, word) })
	})
	smallest := slices.DeleteFunc(slices.Clone(match), func(c candidate) bool {
		return slices.ContainsFunc(match, func(other candidate) bool { return inside(other.node, c.node) })
	})
	smallest = slices.CompactFunc(smallest, func(a, b candidate) bool { return a.node == b.node })
	if len(smallest) != 1 {
		return nil, fmt.Errorf("%s: %s(%s) fits %d places, not one", p.name, operator, strings.Join(words, ", "), len(smallest))
	}
	return smallest[0].node, nil
}

// inside reports whether a is a part of b.
func inside(a, b ast.Node) bool {
	return a != b && b.Pos() <= a.Pos() && a.End() <= b.End() && b.End()-b.Pos() > a.End()-a.Pos()
}

// mentions reports whether one of the nodes contains the word, which is any expression.
func (p *place) mentions(nodes []ast.Node, word string) bool {
	word = unspaced(word)
	found := false
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && unspaced(p.text(e)) == word {
				found = true
			}
			return !found
		})
	}
	return found
}

// unspaced returns s without white space, so that a change of the format changes nothing.
func unspaced(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
