package main

// promises are all of them.
var promises []promise

// mutants returns those of all promises, and those that still quote source.
func mutants() []*mutant {
	var all []*mutant
	for _, p := range promises {
		for _, m := range p.holds {
			m.promise = p.name
			all = append(all, &m)
		}
	}
	for _, q := range quotations {
		all = append(all, q.mutant())
	}
	return all
}
