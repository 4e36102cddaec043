// Package child runs parts of a measurement in processes of their own, so that their CPU and
// their allocations do not count as the client's. Such a process is this program, run again. It
// ends with this one, however that dies: its standard input is a pipe from here.
package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// roleEnv names the role of a process.
const roleEnv = "REDISLANES_BENCH_ROLE"

var roles = make(map[string]func() error)

// A Role is what a process is for: it takes a task, and answers when it is ready or done.
type Role[Task, Answer any] string

// NewRole makes a role known. It is for variables of packages.
func NewRole[Task, Answer any](name string, do func(Task) (Answer, error)) Role[Task, Answer] {
	roles[name] = func() error { return serve(do) }
	return Role[Task, Answer](name)
}

// Main is what main and TestMain call first. It does not return in a process that has a role.
func Main() {
	name := os.Getenv(roleEnv)
	if name == "" {
		return
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // those of a terminal are for the process that started this one
	if err := roles[name](); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve[Task, Answer any](do func(Task) (Answer, error)) error {
	var task Task
	in := json.NewDecoder(os.Stdin)
	if err := in.Decode(&task); err != nil {
		return err
	}
	ended, failed := make(chan struct{}), make(chan error)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // nothing more comes but the end
		close(ended)
	}()
	go func() {
		answer, err := do(task)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(answer)
		}
		if err != nil {
			failed <- err
		}
	}()
	select {
	case <-ended:
		return nil
	case err := <-failed:
		return err
	}
}

// A Process is one that was started.
type Process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// Start starts a process and waits for its answer. A context that ends meanwhile ends the process.
func (r Role[Task, Answer]) Start(ctx context.Context, task Task) (_ *Process, answer Answer, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, answer, err
	}
	p := &Process{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), roleEnv+"="+string(r))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, answer, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, answer, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, answer, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.in.Close() })
	err = errors.Join(json.NewEncoder(p.in).Encode(task), json.NewDecoder(out).Decode(&answer))
	if stop(); err != nil {
		return nil, answer, errors.Join(err, p.Close(), ctx.Err())
	}
	return p, answer, nil
}

// ID is that of the process.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Close ends the process and waits for it.
func (p *Process) Close() error {
	_ = p.in.Close()
	return p.cmd.Wait()
}
