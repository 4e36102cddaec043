package main

import (
	"fmt"
	"go/token"
	"os"
	"slices"
	"strings"
)

// quotations are mutants that quote the source.
var quotations = slices.Concat(known, ofLanes, ofPool, ofCluster, ofMap, ofPipeline, ofLimit, ofEdges)

// A quotation is a mutant that quotes the source, which must be in the file once.
type quotation struct {
	fault    string
	file     string
	old, new string
	pkg      string
	test     string
	race     bool
}

func (q quotation) mutant() *mutant {
	tests := q.pkg + " " + q.test
	if q.race {
		tests = "-race " + tests
	}
	return &mutant{fault: q.fault, at: q.file, tests: tests, without: func(p *place) (edit, error) {
		if n := strings.Count(string(p.source), q.old); n != 1 {
			return edit{}, fmt.Errorf("%s holds %d times what is to be taken out:\n%s", q.file, n, q.old)
		}
		from := token.Pos(strings.Index(string(p.source), q.old))
		return edit{from, from + token.Pos(len(q.old)), q.new}, nil
	}}
}

// quoted returns the file as a place.
func quoted(file string) (*place, error) {
	source, err := os.ReadFile(file)
	return &place{name: file, file: file, source: source}, err
}
