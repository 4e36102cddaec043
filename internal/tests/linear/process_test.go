package linear

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit"
)

// taskEnv makes this program a process of TestLimitIsLinearizable: its value is the task.
const taskEnv = "REDISLANES_LINEAR_TASK"

func TestMain(m *testing.M) {
	if said := os.Getenv(taskEnv); said != "" {
		if err := perform(said); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	servers.VerifyNoLeaks(m)
}

// rules are the limits that are used up. No token flows in and no window ends while a test runs.
var rules = []limit.Rule{
	{Name: "fixed", Quota: 1200, Window: year, FailClosed: true},
	{Name: "sliding", Quota: 2400, Window: year, Algorithm: limit.SlidingWindow, FailClosed: true},
	{Name: "bucket", Quota: 600, Window: year, Algorithm: limit.TokenBucket, FailClosed: true},
}

const (
	year    = 366 * 24 * time.Hour
	callers = 4 // in each process
	denials = 5 // after so many a caller hits a limit no more
)

// A task is what a process is to do.
type task struct {
	Addrs   []string
	Process int
	Began   int64 // the moment from which times count, by the clock that all processes share
}

func (t task) now() int64 { return time.Now().UnixNano() - t.Began }

// A report is what a process did and was told.
type report struct {
	Calls []decided
	Told  []told
}

// A decided is a call with its times.
type decided struct {
	decision
	Caller       int
	Call, Return int64
}

// perform does what the task says, and writes the report.
func perform(said string) error {
	var t task
	if err := json.Unmarshal([]byte(said), &t); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := cluster.Config{}.New(ctx, t.Addrs)
	if err != nil {
		return err
	}
	defer client.Close()
	w := &watcher{now: t.now}
	l, err := limit.Config{Budget: 20 * time.Second, NearCache: -1, Observer: w}.New(client)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // until all are
		return err
	}
	r, err := t.useUp(ctx, l)
	if err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	r.Told = w.told
	return json.NewEncoder(os.Stdout).Encode(r)
}

// useUp has callers hit the limits until they are denied.
func (t task) useUp(ctx context.Context, l *limit.Limiter) (all report, err error) {
	var limits []*limit.Limit
	for _, rule := range rules {
		one, err := rule.New(l)
		if err != nil {
			return all, err
		}
		limits = append(limits, one)
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			calls, failed := t.call(ctx, l, limits, callers*t.Process+i)
			mu.Lock()
			defer mu.Unlock()
			all.Calls = append(all.Calls, calls...)
			if failed != nil {
				err = failed
			}
		})
	}
	running.Wait()
	return all, err
}

// call hits the limits in turn, each until it has denied several hits.
func (t task) call(ctx context.Context, l *limit.Limiter, limits []*limit.Limit, caller int) (calls []decided, err error) {
	denied := make(map[*limit.Limit]int)
	for over := 0; over < len(limits); {
		for _, of := range limits {
			if denied[of] == denials {
				continue
			}
			rule, began := of.Rule(), t.now()
			r := l.Allow(ctx, limit.Request{Limit: of, Key: "k"})
			calls = append(calls, decided{decision{Name: rule.Name, Quota: rule.Quota, Process: t.Process, Allowed: r.Allowed, Leased: r.Leased}, caller, began, t.now()})
			if r.Err != nil {
				return nil, fmt.Errorf("limit %s: %w", rule.Name, r.Err)
			}
			if r.Allowed {
				continue
			}
			if denied[of]++; denied[of] == denials {
				over++
			}
		}
	}
	return calls, nil
}

// A process is one that performs a task.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.Closer
	out  *bufio.Reader
	said bytes.Buffer
}

func startProcess(t *testing.T, of task) *process {
	said, err := json.Marshal(of)
	require.NoError(t, err)
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), taskEnv+"="+string(said)), &p.said
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.cmd.Start())
	return p
}

// awaitReady returns when the process has its connections.
func (p *process) awaitReady() {
	line, err := p.out.ReadString('\n')
	if err != nil {
		_ = p.cmd.Wait() // while it runs, said is written to
		require.NoError(p.t, err, p.said.String())
	}
	require.Equal(p.t, "ready\n", line)
}

// goOn has it begin.
func (p *process) goOn() { require.NoError(p.t, p.in.Close()) }

// report returns what it did. The process has ended.
func (p *process) report() (r report) {
	err := json.NewDecoder(p.out).Decode(&r)
	require.NoError(p.t, p.cmd.Wait(), p.said.String())
	require.NoError(p.t, err)
	return r
}
