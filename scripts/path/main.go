// Path writes down which functions a request of one command passes, as counters of a program that is
// built with -cover. scripts/path.sh builds it, and prints them.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/coverage"
	"strings"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "path:", err)
		os.Exit(1)
	}
}

// run serves, if it is told "serve". Otherwise it counts into the folder of that name.
func run(dir string) error {
	if dir == "serve" {
		e, err := redistest.LaunchEmulated(1)
		if err != nil {
			return err
		}
		fmt.Println(e.Addrs()[0])
		select {}
	}
	server := exec.Command(os.Args[0], "serve") // in a process of its own: its functions do not count
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	return count(strings.TrimSpace(addr), dir)
}

// count counts the functions of one request of a client that has made some.
func count(addr, dir string) error {
	ctx := context.Background()
	client, err := cluster.New(ctx, []string{addr})
	if err != nil {
		return err
	}
	p := pipeline.New(client)
	for range 100 {
		p.Reset()
		p.IncrBy("k", 1)
		if err = p.Do(ctx); err != nil {
			return err
		}
	}
	if err = coverage.ClearCounters(); err != nil {
		return err
	}
	p.Reset()
	p.IncrBy("k", 1)
	if err = p.Do(ctx); err != nil {
		return err
	}
	if err = coverage.WriteCountersDir(dir); err != nil {
		return err
	}
	return coverage.WriteMetaDir(dir)
}
