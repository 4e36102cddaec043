package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/redistest"
)

// networkEnv marks the process that is a network.
const networkEnv = "REDISLANES_COMPARE_NETWORK"

// A network is proxies in a process of their own, so that their CPU and their
// allocations do not count as the client's. It ends with this process, by
// whatever death: its standard input is a pipe from here.
type network struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	proxies map[string]string // by the address of the server
}

// A networkConfig is what the process is told.
type networkConfig struct {
	Servers   []string
	RoundTrip time.Duration
	Bandwidth int // bytes a second of each connection; 0: no bound
}

// startNetwork runs this program again, as a network.
func startNetwork(ctx context.Context, c networkConfig) (*network, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n := &network{cmd: exec.Command(self)}
	n.cmd.Env = append(os.Environ(), networkEnv+"=1")
	n.cmd.Stderr = os.Stderr
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	// A context that ends closes the pipe, which ends the process and the wait
	// for what it says.
	stop := context.AfterFunc(ctx, func() { _ = n.in.Close() })
	err = errors.Join(json.NewEncoder(n.in).Encode(c), json.NewDecoder(out).Decode(&n.proxies))
	if stop(); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// close ends the process and waits for it.
func (n *network) close() error {
	_ = n.in.Close()
	return n.cmd.Wait()
}

func (n *network) addrs() (all []string) {
	for _, addr := range n.proxies {
		all = append(all, addr)
	}
	return all
}

func (n *network) addrMap(addr string) string {
	if proxy, ok := n.proxies[addr]; ok {
		return proxy
	}
	return addr
}

// IsNetwork reports whether this process was started to be a network.
func IsNetwork() bool { return os.Getenv(networkEnv) != "" }

// ServeNetwork is the process of a network: it starts the proxies that its
// standard input asks for, writes their addresses, and returns at the input's
// end. Signals of the terminal are for the process that started it.
func ServeNetwork(in io.Reader, out io.Writer) error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	var c networkConfig
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if err := json.Unmarshal(line, &c); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	go sharpenTimers()
	proxies := make(map[string]string)
	for _, server := range c.Servers {
		p, err := redistest.LaunchProxy(server)
		if err != nil {
			return err
		}
		defer p.Close()
		for _, d := range []redistest.Direction{redistest.ToServer, redistest.ToClient} {
			p.Delay(d, c.RoundTrip/2)
			p.Throttle(d, c.Bandwidth)
		}
		proxies[server] = p.Addr()
	}
	if err := json.NewEncoder(out).Encode(proxies); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	_, err = io.Copy(io.Discard, r)
	return err
}
