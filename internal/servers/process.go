package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// A Node is one redis-server process. Its methods are safe for concurrent use.
type Node struct {
	cluster *Cluster
	ports   ports
	dir     string
	args    []string // besides the file of settings
	id      string

	mu    sync.Mutex // guards what follows
	cmd   *exec.Cmd
	done  chan struct{} // closed when the process has ended
	alone bool          // the process is a server without cluster mode
}

// Addr returns the node's address, host:port.
func (n *Node) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.Port())) }

// Port returns the node's port.
func (n *Node) Port() int { return n.ports.clients }

// ID returns the node's ID in its cluster, "" without cluster mode.
func (n *Node) ID() string { return n.id }

// Pid returns the process's ID.
func (n *Node) Pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd.Process.Pid
}

// Log returns the end of the server's log.
func (n *Node) Log() string {
	b, err := os.ReadFile(filepath.Join(n.dir, "log"))
	if err != nil {
		return err.Error()
	}
	const tail = 4 << 10
	return string(b[max(0, len(b)-tail):])
}

// Do performs a command over a connection of its own.
func (n *Node) Do(ctx context.Context, rcv any, cmd string, args ...string) error {
	conn, err := n.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Do(ctx, radix.Cmd(rcv, cmd, args...)); err != nil {
		return fmt.Errorf("servers: %s: %s: %w", n.Addr(), cmd, err)
	}
	return nil
}

// Knows reports whether the server has the command.
func (n *Node) Knows(ctx context.Context, command string) (bool, error) {
	var rows [][]any // a row of nothing for a command that it does not have
	err := n.Do(ctx, &rows, "COMMAND", "INFO", command)
	return len(rows) > 0 && len(rows[0]) > 0, err
}

func (n *Node) dial(ctx context.Context) (radix.Conn, error) {
	d := radix.Dialer{AuthPass: n.cluster.options.Password}
	if config := n.cluster.TLSConfig(); config != nil {
		d.NetDialer = tlsDialer{config}
	}
	return d.Dial(ctx, "tcp", n.Addr())
}

// start starts the process and waits until it accepts connections. It returns
// errPort if the port was taken.
func (n *Node) start(ctx context.Context) error { return n.startIn(ctx, n.dir, false) }

func (n *Node) startIn(ctx context.Context, dir string, alone bool) error {
	// What is wrong with its settings, a server tells before it opens its log.
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	defer output.Close()
	cmd := exec.Command(n.cluster.options.Binary, append([]string{"redis.conf"}, n.args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, output, output
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("servers: starting %s: %w", n.cluster.options.Binary, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		n.cluster.watchdog.forget(cmd.Process.Pid)
		close(done)
	}()
	n.mu.Lock()
	n.cmd, n.done, n.alone = cmd, done, alone
	n.mu.Unlock()
	n.cluster.watchdog.watch(cmd.Process.Pid)
	return poll(ctx, "a server accepts connections at "+n.Addr(), func() (bool, error) {
		select {
		case <-done:
			return false, n.whyEnded(dir)
		default:
		}
		var pong, info string
		if n.Do(ctx, &pong, "PING") != nil || n.Do(ctx, &info, "INFO", "server") != nil {
			return false, nil
		}
		// Else a server of another test has taken the port, and this one is about to end.
		return strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", cmd.Process.Pid)), nil
	})
}

var (
	errPort = errors.New("servers: the port was taken meanwhile")
	errTLS  = errors.New("servers: the server was built without TLS")
)

// whyEnded says why the process ended at its start.
func (n *Node) whyEnded(dir string) error {
	output, _ := os.ReadFile(filepath.Join(dir, "output"))
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	said := string(output) + string(log)
	switch {
	case strings.Contains(said, "Failed listening") || strings.Contains(said, "bind: Address already in use"):
		return errPort
	case strings.Contains(said, ">>> 'tls-") || strings.Contains(said, "Failed finding TLS support"):
		return fmt.Errorf("%w: %s", errTLS, n.cluster.options.Binary)
	}
	return fmt.Errorf("servers: %s ended at its start:\n%s", n.cluster.options.Binary, said)
}

func (n *Node) signal(s os.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("servers: signal %v to %s: %w", s, n.Addr(), err)
	}
	return nil
}

// Kill kills the process and waits for its end.
func (n *Node) Kill() error {
	err := n.signal(os.Kill)
	n.mu.Lock()
	done := n.done
	n.mu.Unlock()
	<-done
	return err
}

// Pause stops the process with SIGSTOP: its connections stay open and nothing
// is answered.
func (n *Node) Pause() error { return n.signal(pauseSignal) }

// Resume lets a paused process go on.
func (n *Node) Resume() error { return n.signal(resumeSignal) }

// Restart starts the process again, on its port and with its folder, and waits
// until it answers. The process must have ended.
func (n *Node) Restart(ctx context.Context) error {
	if n.running() {
		return fmt.Errorf("servers: Restart of %s, which is running: Kill it first", n.Addr())
	}
	return n.start(ctx)
}

// RestartAlone starts a server without cluster mode and without keys at the
// node's address, as a client finds it where an address was given to another
// server, or where a node was restarted without its settings. The process must
// have ended. Kill ends the server, and Restart brings the node back.
func (n *Node) RestartAlone(ctx context.Context) error {
	if n.running() {
		return fmt.Errorf("servers: RestartAlone of %s, which is running: Kill it first", n.Addr())
	}
	dir := filepath.Join(n.dir, "alone")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	if err := n.cluster.configure(n, dir, true); err != nil {
		return err
	}
	return n.startIn(ctx, dir, true)
}

// poll asks again and again until ok, an error, or the context's end.
func poll(ctx context.Context, what string, ok func() (bool, error)) error {
	const longest = 25 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		done, err := ok()
		if done || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("servers: waiting until %s: %w", what, ctx.Err())
		}
	}
}
