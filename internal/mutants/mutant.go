package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A promise is a row of docs/promises.md, with the mutants that each break it.
type promise struct {
	name  string
	holds []mutant // without them it does not
}

// A mutant is the library without one protection.
type mutant struct {
	fault   string   // what happens without it
	at      string   // the declaration that holds it, such as "internal/engine.client.refresh"
	by      operator // what takes it out
	test    string   // what must fail: flags of go test, the package and a pattern for -run
	promise string
}

// kill returns nil if the test fails without the protection. It returns an error if the test
// passes or does not run.
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
	words := strings.Fields(m.test)
	n := len(words) - 1
	args := slices.Concat([]string{"test", "-overlay", overlay, "-count=1", "-vet=off", "-timeout", "30s"}, words[:n-1], []string{"-run", words[n], words[n-1]})
	return m.judge(exec.Command("go", args...).CombinedOutput())
}

// judge is kill for the output and the error of go test.
func (m *mutant) judge(out []byte, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil && bytes.Contains(out, []byte("no tests to run")):
		return fmt.Errorf("there is no such test as %s", m.test)
	case err == nil:
		return fmt.Errorf("the test %s passes", m.test)
	case !errors.As(err, &exit):
		return err
	case bytes.Contains(out, []byte("[build failed]")):
		return fmt.Errorf("it does not compile:\n%s", out)
	case !failed(out):
		return fmt.Errorf("the test %s does not run: %w\n%s", m.test, err, out)
	}
	return nil
}

var (
	failure  = regexp.MustCompile(`--- FAIL|panic:|fatal error:|WARNING: DATA RACE|test timed out|Test killed|leak: the tests passed, but`)
	noServer = regexp.MustCompile(`servers: (no redis-server|REDISLANES_TEST_SERVER)`)
)

// failed reports whether a test failed, and not the run itself, such as for want of disk space. A
// missing redis-server counts as a failed run.
func failed(out []byte) bool { return failure.Match(out) && !noServer.Match(out) }

// change returns the file that holds the protection, and its text without it.
func (m *mutant) change() (file, text string, err error) {
	p, err := find(m.at)
	if err != nil {
		return "", "", err
	}
	decl, err := m.by(p.decl)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", m.at, err)
	}
	return p.file, p.before + decl + p.behind, nil
}

// overlay writes the changed file and what go test -overlay reads.
func (m *mutant) overlay(dir string) (string, error) {
	file, text, err := m.change()
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.fault, err)
	}
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return "", err
	}
	original, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}
