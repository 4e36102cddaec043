package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A change puts one text in place of another that a file of the standard library has once.
type change struct{ file, old, becomes string }

var changes = []change{
	{"runtime/synctest.go", "	id      uint64 // unique id\n", "	id      uint64 // unique id\n	random  uint64\n"},
	{"runtime/rand.go", "	mp := getg().m\n	c := &mp.chacha8\n", `	if b := getg().bubble; b != nil {
		b.random += 0xa0761d6478bd642f
		hi, lo := math.Mul64(b.random, b.random^0xe7037ed1a0b428db)
		return hi ^ lo
	}
	mp := getg().m
	c := &mp.chacha8
`},
	{"runtime/rand.go", "	globalRand.state.Init(*seed)\n", "	clear(seed[:])\n	globalRand.state.Init(*seed)\n"},
	{"runtime/select.go", "cheaprandn(uint32(norder + 1))", "randn(uint32(norder + 1))"},
	{"runtime/time.go", "t.rand = cheaprand()", "t.rand = uint32(rand())"},
	{"runtime/proc.go", "if pp.schedtick%61 == 0 && !sched.runq.empty() {", "if false {"},
	{"runtime/proc.go", "const forcePreemptNS = 10 * 1000 * 1000 ", "const forcePreemptNS = 3600 * 1000 * 1000 * 1000 "},
	{"runtime/proc.go", "	if preempted && sched.gcwaiting.Load() {\n		// If preempted for STW", `	if gp.bubble != nil {
		runqput(pp, gp, false)
	} else if preempted && sched.gcwaiting.Load() {
		// If preempted for STW`},
	{"internal/sync/mutex.go", "starvationThresholdNs = 1e6", "starvationThresholdNs = 1e18"},
}

// overlay writes the changed files and what go test -overlay reads.
func overlay(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	texts, replace := make(map[string]string), make(map[string]string)
	for _, c := range changes {
		file := filepath.Join(strings.TrimSpace(string(root)), "src", filepath.FromSlash(c.file))
		if texts[file] == "" {
			b, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			texts[file] = string(b)
		}
		if n := strings.Count(texts[file], c.old); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, want once: change the overlay for %s", file, c.old, n, runtime.Version())
		}
		texts[file] = strings.Replace(texts[file], c.old, c.becomes, 1)
		replace[file] = filepath.Join(dir, strings.ReplaceAll(c.file, "/", "_"))
	}
	for file, text := range texts {
		if err := os.WriteFile(replace[file], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	said, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, said, 0o600)
}
