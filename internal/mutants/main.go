// Command mutants takes protections out of the library, one at a time, and runs
// the test that must notice. It changes no file: go test -overlay compiles a
// changed copy. It ends with status 1 if a test passes all the same, or if a
// protection is not found where it was.
//
// With -sim it runs the simulated world in place of the tests, and only tells
// which mutants it notices.
//
// Usage, from the root of the module: go run ./internal/mutants [-run REGEXP] [-sim SEEDS [-from SEED]]
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

func main() {
	only := flag.String("run", "", "only the mutants with a fault or a promise that matches the regular `expression`")
	seeds := flag.Int("sim", 0, "run so many `seeds` of the simulated world in place of the tests")
	from := flag.Int("from", 1, "the first `seed`")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants: -run:", err)
		os.Exit(2)
	}
	var chosen []*mutant
	for _, m := range mutants() {
		if pattern.MatchString(m.fault) || pattern.MatchString(m.promise) {
			chosen = append(chosen, m)
		}
	}
	if *seeds > 0 {
		simulate(chosen, *seeds, *from)
		return
	}
	survived := 0
	for _, m := range chosen {
		began := time.Now()
		verdict := "noticed"
		if err := m.kill(); err != nil {
			survived++
			verdict = "NOT NOTICED: " + err.Error()
		}
		fmt.Printf("%-66s %-40s %5.1f s  %s\n", m.fault, m.tests, time.Since(began).Seconds(), verdict)
	}
	if survived > 0 {
		fmt.Printf("%d protections could be taken out without a test's noticing\n", survived)
		os.Exit(1)
	}
}
