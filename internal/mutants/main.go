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
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A mutant is the library without one protection.
type mutant struct {
	fault    string // what happens without it
	file     string
	old, new string // old must be in the file once
	pkg      string // of the test
	test     string // a pattern for go test -run
	race     bool   // only the race detector can see it
}

func main() {
	only := flag.String("run", "", "only the mutants whose fault matches the regular `expression`")
	seeds := flag.Int("sim", 0, "run so many `seeds` of the simulated world in place of the tests")
	from := flag.Int("from", 1, "the first `seed`")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants: -run:", err)
		os.Exit(2)
	}
	var chosen []*mutant
	for i := range mutants {
		if pattern.MatchString(mutants[i].fault) {
			chosen = append(chosen, &mutants[i])
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
		fmt.Printf("%-66s %-40s %5.1f s  %s\n", m.fault, m.test, time.Since(began).Seconds(), verdict)
	}
	if survived > 0 {
		fmt.Printf("%d protections could be taken out without a test's noticing\n", survived)
		os.Exit(1)
	}
}

// kill returns nil if the test fails without the protection and not for want of
// compiling.
func (m *mutant) kill() error {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		return err
	}
	args := []string{"test", "-overlay", overlay, "-count=1", "-timeout", "60s", "-run", m.test}
	if m.race {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, m.pkg)...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil && bytes.Contains(out, []byte("no tests to run")):
		return errors.New("there is no such test")
	case err == nil:
		return errors.New("the test passes")
	case !errors.As(err, &exit):
		return err
	case bytes.Contains(out, []byte("[build failed]")):
		return fmt.Errorf("it does not compile:\n%s", out)
	}
	return nil
}

// overlay writes the changed file and what go test -overlay reads.
func (m *mutant) overlay(dir string) (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%s holds %d times what is to be taken out:\n%s", m.file, n, m.old)
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600); err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
