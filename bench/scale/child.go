package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// serveEnv says to the child process how many servers it is to be.
const serveEnv = "REDISLANES_SCALE_SERVE"

// served does what the child process is for, if this is one.
func served() (is bool, err error) {
	text := os.Getenv(serveEnv)
	if text == "" {
		return false, nil
	}
	primaries, err := strconv.Atoi(text)
	if err != nil {
		return true, fmt.Errorf("%s: %w", serveEnv, err)
	}
	return true, serve(primaries, os.Stdin, os.Stdout)
}

// serve is what the child process does: it starts the servers, says where they are,
// and goes on until the parent closes its end of the pipe.
func serve(primaries int, in io.Reader, out io.Writer) error {
	c, err := startNull(primaries)
	if err != nil {
		return err
	}
	defer c.close()
	if _, err := fmt.Fprintln(out, strings.Join(c.addrs(), " ")); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// withServers calls f with the addresses of servers in a process of their own.
func withServers(ctx context.Context, primaries int, f func(addrs []string) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, self)
	child.Env = append(os.Environ(), serveEnv+"="+strconv.Itoa(primaries))
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = f(strings.Fields(line))
	}
	_ = in.Close() // it ends by itself
	if ended := child.Wait(); err == nil {
		err = ended
	}
	return err
}
