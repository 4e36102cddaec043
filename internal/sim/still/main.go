// Command still runs random worlds of internal/sim so that each run of a seed is the same.
//
// It compiles the test of internal/sim with a changed copy of package runtime: go test -overlay
// changes no file. There, goroutines of a synctest bubble draw from one source of random numbers,
// which begins alike in each world: so do the order of a map, the case that a select takes, and
// math/rand. A goroutine runs until it waits or yields. Each seed has a process of its own with one
// processor and without garbage collection. Variants of a seed are the same world in another order.
//
// Usage, from the root of the module: go run ./internal/sim/still [-from SEED] [-seeds N] [-variants N] [-runs N]
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

func main() { os.Exit(still()) }

func still() (status int) {
	from := flag.Uint64("from", 1, "the first `seed`")
	seeds := flag.Int("seeds", 1, "how many `seeds`")
	variants := flag.Int("variants", 1, "how many variants of each `seed`")
	runs := flag.Int("runs", 1, "how many `runs` of each of them")
	flag.Parse()
	dir, err := os.MkdirTemp("", "still")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "still:", err)
		return 2
	}
	bad := 0
	for i := range *seeds * *variants {
		if !(world{dir, *from + uint64(i / *variants), i % *variants}).well(*runs) {
			bad++
		}
	}
	fmt.Printf("%d worlds, %d of them fail or differ\n", *seeds**variants, bad)
	return min(bad, 1)
}

// build compiles the test.
func build(dir string) error {
	overlay, err := overlay(dir)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-c", "-o", filepath.Join(dir, "sim.test"), "./internal/sim")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// A world is a variant of a seed.
type world struct {
	dir     string
	seed    uint64
	variant int
}

var history = regexp.MustCompile(`(?m)^history .*$`)

// well reports whether none of its runs fails, and all are the same. If not, it tells.
func (w world) well(n int) bool {
	histories, failed := make(map[string]int), 0
	var first []byte
	for range n {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		cmd := exec.CommandContext(ctx, filepath.Join(w.dir, "sim.test"), "-test.run=^TestStill$", "-test.timeout=0",
			"-sim.from="+strconv.FormatUint(w.seed, 10), "-sim.variant="+strconv.Itoa(w.variant))
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
		out, err := cmd.CombinedOutput()
		cancel()
		histories[string(history.Find(out))]++
		if err != nil {
			failed++
			if first == nil {
				first = out
			}
		}
	}
	if failed == 0 && len(histories) == 1 {
		return true
	}
	fmt.Printf("seed %d, variant %d: %d of %d runs fail, %d histories\n%s\n", w.seed, w.variant, failed, n, len(histories), bytes.TrimSpace(first))
	return false
}
