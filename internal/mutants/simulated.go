package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// simulate runs the scenes and random worlds, and no other test, without each of the
// protections, and prints which of them notices, and after how many seeds.
func simulate(chosen []*mutant, seeds, from int) {
	noticed := 0
	for _, m := range chosen {
		began := time.Now()
		verdict, found, err := m.simulate(seeds, from)
		switch {
		case err != nil:
			verdict = "ERROR: " + err.Error()
		case found:
			noticed++
		}
		fmt.Printf("%-84s %5.1f s  %s\n", m.fault, time.Since(began).Seconds(), verdict)
	}
	fmt.Printf("noticed by the simulated world: %d of %d\n", noticed, len(chosen))
}

var (
	failedScene  = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	firstFailure = regexp.MustCompile(`(?m)^first failure: (.*)$`)
	fatal        = regexp.MustCompile(`(?m)^((?:panic|fatal error|runtime): .{0,100})`)
	seedsDone    = regexp.MustCompile(`(?m)^(\d+) of \d+ seeds`)
)

// simulate returns what the simulated world says of the library without the
// protection.
func (m *mutant) simulate(seeds, from int) (verdict string, noticed bool, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", false, err
	}
	out, err := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-vet=off", "-timeout", "120s", "./internal/sim/scenes").CombinedOutput()
	if verdict, noticed, err = ofScenes(out, err); noticed || err != nil {
		return verdict, noticed, err
	}
	out, err = exec.Command("go", "test", "-overlay", overlay, "-count=1", "-vet=off", "-timeout", "240s", "-run", "TestWorlds", "./internal/sim",
		"-sim.first", "-sim.seeds="+strconv.Itoa(seeds), "-sim.from="+strconv.Itoa(from)).CombinedOutput()
	if err == nil {
		return fmt.Sprintf("NOT NOTICED in %d seeds", seeds), false, nil
	}
	return ofWorlds(out, err)
}

// ofScenes returns the verdict of the scenes, by the output and the error of go test.
func ofScenes(out []byte, err error) (verdict string, noticed bool, _ error) {
	switch scene := failedScene.FindSubmatch(out); {
	case err == nil:
		return "", false, nil
	case bytes.Contains(out, []byte("[build failed]")):
		return "", false, fmt.Errorf("it does not compile:\n%s", out)
	case !failed(out):
		return "", false, fmt.Errorf("the scenes do not run: %w\n%s", err, out)
	case scene != nil:
		return "scene " + string(scene[1]), true, nil
	}
	return "a scene does not end", true, nil
}

// ofWorlds returns the verdict of random worlds, by the output and the error of a go test that failed.
func ofWorlds(out []byte, err error) (verdict string, noticed bool, _ error) {
	switch first := firstFailure.FindSubmatch(out); {
	case bytes.Contains(out, []byte("[build failed]")):
		return "", false, fmt.Errorf("it does not compile:\n%s", out)
	case first != nil:
		return string(first[1]), true, nil
	case !failed(out):
		return "", false, fmt.Errorf("the worlds do not run: %w\n%s", err, out)
	}
	done := []byte("some")
	if all := seedsDone.FindAllSubmatch(out, -1); all != nil {
		done = all[len(all)-1][1]
	}
	how := "ends the process"
	if why := fatal.FindSubmatch(out); why != nil {
		how += " (" + string(why[1]) + ")"
	}
	return fmt.Sprintf("%s, after %s seeds", how, done), true, nil
}
