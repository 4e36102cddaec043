// Command mutants takes protections out of the library, one at a time, and runs
// the tests that must notice. It changes no file: go test -overlay compiles a
// changed copy. It ends with status 1 if a test passes all the same, or if a
// protection is not found where it was.
//
// The table lists the rows of docs/promises.md. Under each are mutants that break it. A mutant
// names a declaration, such as "internal/engine.retry.judge", and an operator that changes
// one place in it: never("sendText") makes the condition sendText false. A text that the
// declaration does not have, or has more than once, is an error, also of
// go test ./internal/mutants. So a protection cannot leave the library without notice.
//
// Usage, from the root of the module: go run ./internal/mutants [-run REGEXP]
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
	survived, promise := 0, ""
	for i, m := range chosen {
		if m.promise != promise {
			promise = m.promise
			fmt.Println("\n" + promise)
		}
		began := time.Now()
		verdict := "noticed"
		if err := m.kill(); err != nil {
			survived++
			verdict = "NOT NOTICED: " + err.Error()
		}
		fmt.Printf("  %3d of %d  %-80s %-50s %5.1f s  %s\n", i+1, len(chosen), m.fault, m.test, time.Since(began).Seconds(), verdict)
	}
	if survived > 0 {
		fmt.Printf("%d protections could be taken out without a test's noticing\n", survived)
		os.Exit(1)
	}
}
