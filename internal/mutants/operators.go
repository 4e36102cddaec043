package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// An operator takes a protection out of a place. It names what it changes by words:
// expressions, mostly names, that the one condition or statement mentions.
type operator func(*place) (edit, error)

// An edit replaces the source from one position up to another.
type edit struct {
	from, to token.Pos
	text     string
}

// never makes the condition that mentions the words false.
func never(words ...string) operator { return forced("never", "(%s) && false", words) }

// always makes the condition that mentions the words true.
func always(words ...string) operator { return forced("always", "((%s) || true)", words) }

func forced(name, format string, words []string) operator {
	return func(p *place) (edit, error) {
		n, err := p.choose(name, conditions(p.node), words)
		if err != nil {
			return edit{}, err
		}
		return edit{n.Pos(), n.End(), fmt.Sprintf(format, p.text(n))}, nil
	}
}

// conditions returns what is true or false in the node: each condition, and each part of it.
func conditions(in ast.Node) []candidate {
	var all []candidate
	add := func(e ast.Expr, beside ...ast.Node) { all = append(all, candidate{e, append(beside, e)}) }
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if n.Init != nil {
				add(n.Cond, n.Init)
			} else {
				add(n.Cond)
			}
		case *ast.ForStmt:
			if n.Cond != nil {
				add(n.Cond)
			}
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					if n.Tag == nil {
						add(e)
					}
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				add(n)
			}
		case *ast.BinaryExpr:
			switch n.Op {
			case token.LAND, token.LOR:
				for _, part := range []ast.Expr{n.X, n.Y} {
					add(part)
				}
				add(n)
			case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				add(n)
			}
		}
		return true
	})
	return all
}

// drop leaves out the statement that mentions the words. Its code is compiled, so that nothing
// is unused.
func drop(words ...string) operator {
	return statement("drop", "if false { %s }", words)
}

// becomes puts code in place of the statement that mentions the words.
func becomes(code string, words ...string) operator {
	return statement("becomes", strings.ReplaceAll(code, "%", "%%")+"%.0s", words)
}

// before puts code before the statement that mentions the words.
func before(code string, words ...string) operator {
	return statement("before", strings.ReplaceAll(code, "%", "%%")+"; %s", words)
}

// after puts code behind the statement that mentions the words.
func after(code string, words ...string) operator {
	return statement("after", "%s; "+strings.ReplaceAll(code, "%", "%%"), words)
}

func statement(name, format string, words []string) operator {
	return func(p *place) (edit, error) {
		n, err := p.choose(name, statements(p.node), words)
		if err != nil {
			return edit{}, err
		}
		return edit{n.Pos(), n.End(), fmt.Sprintf(format, p.text(n))}, nil
	}
}

// statements returns the statements of the node's blocks that an operator may change: calls,
// assignments, returns and the like, and ifs, of which the condition counts.
func statements(in ast.Node) []candidate {
	var all []candidate
	add := func(list []ast.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt, *ast.ReturnStmt:
				all = append(all, candidate{s, []ast.Node{s}})
			case *ast.IfStmt:
				all = append(all, candidate{s, []ast.Node{s.Cond}})
			}
		}
	}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			add(n.List)
		case *ast.CaseClause:
			add(n.Body)
		case *ast.CommClause:
			add(n.Body)
		}
		return true
	})
	return all
}

// begins puts code at the beginning of the function. A return there replaces its body.
func begins(code string) operator {
	return func(p *place) (edit, error) {
		f, ok := p.node.(*ast.FuncDecl)
		if !ok {
			return edit{}, errors.New(p.name + " is no function")
		}
		at := f.Body.Lbrace + 1
		return edit{at, at, " " + code + ";"}, nil
	}
}

// instead puts one expression in place of another.
func instead(old, becomes string) operator {
	return func(p *place) (edit, error) {
		var all []candidate
		ast.Inspect(p.node, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && unspaced(p.text(e)) == unspaced(old) {
				all = append(all, candidate{e, []ast.Node{e}})
			}
			return true
		})
		n, err := p.choose("instead", all, []string{old})
		if err != nil {
			return edit{}, err
		}
		return edit{n.Pos(), n.End(), becomes}, nil
	}
}

// without leaves out an element of a literal, an argument of a call, or a case, that mentions the words.
// Only its comma goes with an element that is not the last one.
func without(words ...string) operator {
	return func(p *place) (edit, error) {
		all, until := elements(p.node)
		n, err := p.choose("without", all, words)
		if err != nil {
			return edit{}, err
		}
		return edit{n.Pos(), until[n], ""}, nil
	}
}

// elements returns the elements of the node's literals, the arguments of its calls and its cases,
// and up to where each is left out.
func elements(in ast.Node) (all []candidate, until map[ast.Node]token.Pos) {
	until = make(map[ast.Node]token.Pos)
	add := func(list []ast.Expr, end token.Pos) {
		for i, e := range list {
			all = append(all, candidate{e, []ast.Node{e}})
			until[e] = end
			if i+1 < len(list) {
				until[e] = list[i+1].Pos()
			}
		}
	}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			add(n.Elts, n.Rbrace)
		case *ast.CallExpr:
			add(n.Args, n.Rparen)
		case *ast.CaseClause:
			c := candidate{node: n}
			for _, e := range n.List {
				c.in = append(c.in, e)
			}
			all, until[n] = append(all, c), n.End()
		case *ast.CommClause:
			if n.Comm != nil {
				all, until[n] = append(all, candidate{n, []ast.Node{n.Comm}}), n.End()
			}
		}
		return true
	})
	return all, until
}

// value gives a constant or a variable another value.
func value(becomes string) operator {
	return func(p *place) (edit, error) {
		v, ok := p.node.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return edit{}, errors.New(p.name + " is no constant or variable with one value")
		}
		return edit{v.Values[0].Pos(), v.Values[0].End(), becomes}, nil
	}
}

// spelled puts one text in place of another inside the string that a constant is.
func spelled(old, becomes string) operator {
	return func(p *place) (edit, error) {
		text := p.text(p.node)
		if n := strings.Count(text, old); n != 1 {
			return edit{}, fmt.Errorf("%s: spelled(%s) fits %d places, not one", p.name, old, n)
		}
		return edit{p.node.Pos(), p.node.End(), strings.Replace(text, old, becomes, 1)}, nil
	}
}
