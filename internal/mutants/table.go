package main

import "slices"

// promises are all of them.
var promises = slices.Concat(outcomes, retries, slotmap, connections, counts)

// mutants returns those of all promises.
func mutants() []*mutant {
	var all []*mutant
	for _, p := range promises {
		for _, m := range p.holds {
			m.promise = p.name
			all = append(all, &m)
		}
	}
	return all
}
