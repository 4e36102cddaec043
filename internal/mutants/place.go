package main

import (
	"errors"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A place is a declaration of the library: a function, a method, a constant or a variable.
type place struct {
	file                 string
	before, decl, behind string // the text of the file
}

// find returns the declaration with a name such as "internal/engine.client.refresh":
// the directory of the package, the receiver's type if there is one, and the name. The directory of
// package redislanes is empty, as in ".Error.Error".
func find(name string) (place, error) {
	last := strings.LastIndexByte(name, '/') + 1
	dir, decl, _ := strings.Cut(name[last:], ".")
	files, err := sources(name[:last] + dir)
	if err != nil {
		return place{}, err
	}
	var found []place
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return place{}, err
		}
		for _, at := range declares(decl).FindAllIndex(text, -1) {
			end := len(text)
			if next := declaration.FindIndex(text[at[1]:]); next != nil {
				end = at[1] + next[0]
			}
			found = append(found, place{file, string(text[:at[0]]), string(text[at[0]:end]), string(text[end:])})
		}
	}
	if len(found) != 1 {
		return place{}, fmt.Errorf("%s: %d declarations have this name, not one", name, len(found))
	}
	return found[0], nil
}

// sources returns the files of the package that this system compiles, without its tests.
func sources(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	return slices.DeleteFunc(files, func(file string) bool {
		ok, err := build.Default.MatchFile(dir, filepath.Base(file))
		return err != nil || !ok || strings.HasSuffix(file, "_test.go")
	}), err
}

// declaration matches where the next declaration begins.
var declaration = regexp.MustCompile(`(?m)^(func|const|var|type)\b`)

// declares returns what matches the beginning of the declaration with the name.
func declares(name string) *regexp.Regexp {
	if receiver, method, found := strings.Cut(name, "."); found {
		return regexp.MustCompile(`(?m)^func \((\w+ )?\*?` + receiver + `(\[.*?\])?\) ` + method + `\(`)
	}
	return regexp.MustCompile(`(?m)^func ` + name + `[\[(]|^(const |var |\t)` + name + `\b.* = `)
}

// An operator takes a protection out of a declaration. It returns the text without it.
type operator func(decl string) (string, error)

// instead puts one text in place of another, which the declaration has once.
func instead(old, becomes string) operator {
	return func(decl string) (string, error) {
		if n := strings.Count(decl, old); n != 1 {
			return "", fmt.Errorf("%q is there %d times, not once", old, n)
		}
		return strings.Replace(decl, old, becomes, 1), nil
	}
}

// never makes a condition false.
func never(condition string) operator { return instead(condition, "("+condition+") && false") }

// always makes a condition true.
func always(condition string) operator { return instead(condition, "(("+condition+") || true)") }

// drop leaves out a statement. Its code is compiled, so that nothing is unused.
func drop(statement string) operator { return instead(statement, "if false { "+statement+" }") }

// begins puts code at the beginning of a function. A return there replaces its body.
func begins(code string) operator {
	return func(decl string) (string, error) {
		head, body, found := strings.Cut(decl, "{\n")
		if !found {
			return "", errors.New("it is no function of several lines")
		}
		return head + "{ " + code + "\n" + body, nil
	}
}
