package cluster_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/pipeline"
)

// fateTexts has texts of each kind. What is expected of them is in the columns below.
var fateTexts = []string{
	"TRYAGAIN Multiple keys request during rehashing of slot",
	"CLUSTERDOWN The cluster is down",
	"CLUSTERDOWN Hash slot not served",
	"LOADING Redis is loading the dataset in memory",
	"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	"READONLY You can't write against a read only replica.",
	"NOREPLICAS Not enough good replicas to write.",
	"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"ERR max number of clients reached",
	"ERR max number of clients + cluster connections reached",
	"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
	"UNBLOCKED client unblocked via CLIENT UNBLOCK",
	"EXECABORT Transaction discarded because of previous errors.",
	"OOM command not allowed when used memory > 'maxmemory'.",
	"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	"NOAUTH Authentication required.",
	"WRONGPASS invalid username-password pair or user is disabled.",
	"NOPERM User x has no permissions to run the 'expire' command",
	"WRONGTYPE Operation against a key holding the wrong kind of value",
	"ERR value is not an integer or out of range",
	"ERR unknown command 'x', with args beginning with: ",
	"IOERR error or timeout reading to target instance",
	"READONLY You can't write against a read only replica. script: b201f9, on @user_script:1.",
	"NOREPLICAS Not enough good replicas to write. script: on @user_script:1.", // Valkey 9
	"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -BUSY x",
	"upstream failure", // Envoy
	"no upstream host",
	"ERR server closed connection", // twemproxy
	"ERR Connection timed out",
	"MODULEERR x",
}

// A grump is a server that replies with a text to the first calls of a command.
type grump struct {
	mu    sync.Mutex
	name  string // of the command
	text  string
	times int
	calls map[string]int
}

func (m *grump) arm(name, text string, times int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name, m.text, m.times, m.calls = name, text, times, make(map[string]int)
}

func (m *grump) called(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[name]
}

func (m *grump) answer(w io.Writer, cmd []string) bool {
	name := strings.ToUpper(cmd[0])
	reply := map[string]string{
		"CLIENT": "+OK\r\n", "GET": "$1\r\n1\r\n", "BLPOP": "*2\r\n$1\r\nk\r\n$1\r\n1\r\n",
	}[name]
	if reply == "" {
		reply = ":1\r\n"
	}
	m.mu.Lock()
	if m.calls != nil {
		m.calls[name]++
	}
	if name == m.name && m.times > 0 {
		m.times--
		reply = "-" + m.text + "\r\n"
	}
	m.mu.Unlock()
	_, err := io.WriteString(w, reply)
	return err == nil
}

// newGrump returns a server and a client of it.
func newGrump(t *testing.T, c cluster.Config) (*grump, *cluster.Client) {
	m := new(grump)
	f := newFake(t)
	f.answer, f.hijack = m.answer, "CLIENT"
	f.start()
	c.RefreshEvery = -1
	return m, open(t, c, []string{f.addr()})
}

// fateWays are the ways of a command to the server and back.
var fateWays = map[string]struct {
	command string
	do      func(ctx context.Context, c *cluster.Client) error
}{
	"command": {"INCR", func(ctx context.Context, c *cluster.Client) error { return c.Do(ctx, radix.Cmd(nil, "INCR", "k")) }},
	"radix.Pipeline": {"INCR", func(ctx context.Context, c *cluster.Client) error {
		p := radixPipeline(radix.Cmd(nil, "GET", "k"), radix.Cmd(nil, "INCR", "k"))
		return c.Do(ctx, p)
	}},
	"pipeline": {"INCRBY", func(ctx context.Context, c *cluster.Client) error {
		p := pipeline.New(c)
		p.Cmd("GET", "k")
		p.IncrBy("k", 1)
		return p.Do(ctx)
	}},
	"script": {"EVAL", func(ctx context.Context, c *cluster.Client) error {
		return c.Do(ctx, radix.Cmd(nil, "EVAL", "x", "1", "k"))
	}},
	"blocking": {"BLPOP", func(ctx context.Context, c *cluster.Client) error {
		return c.Do(ctx, radix.Cmd(nil, "BLPOP", "k", "1"))
	}},
	"WithConn": {"INCR", func(ctx context.Context, c *cluster.Client) error {
		return c.Do(ctx, dedicatedCmd("k", "INCR", "k"))
	}},
	"raw receiver": {"INCR", func(ctx context.Context, c *cluster.Client) error {
		var raw resp3.RawMessage
		err := c.Do(ctx, radix.Cmd(&raw, "INCR", "k"))
		if err == nil && raw[0] == '-' { // the receiver takes it as a value
			err = resp3.SimpleError{S: strings.TrimSuffix(string(raw[1:]), "\r\n")}
		}
		return err
	}},
}

// TestFates: what becomes of a command that gets each of the texts once, on every way. It
// is sent again if, and only if, the text proves that it did not run and the trouble passes.
func TestFates(t *testing.T) {
	for _, standalone := range []bool{false, true} {
		for way, column := range fateWays {
			t.Run(map[bool]string{false: "cluster/", true: "Standalone/"}[standalone]+way, func(t *testing.T) {
				t.Parallel()
				ctx := within(t, 30*time.Second)
				for _, text := range fateTexts {
					m, client := newGrump(t, cluster.Config{Standalone: standalone})
					m.arm(column.command, text, 1)
					err := column.do(ctx, client)
					again := fate.Of([]byte(text)).Passes() && way != "WithConn" // which might have begun something
					checkFate(t, err, text, again)
					calls := 1
					if again {
						calls = 2
					}
					assert.Equal(t, calls, m.called(column.command), text)
				}
			})
		}
	}
}

// checkFate checks what a call says whose command got the text, once.
func checkFate(t *testing.T, err error, text string, again bool) {
	t.Helper()
	f := fate.Of([]byte(text))
	if again {
		assert.NoError(t, err, text)
		return
	}
	var said resp3.SimpleError
	if assert.ErrorAs(t, err, &said, text) {
		assert.Equal(t, text, said.S)
	}
	assert.NotErrorIs(t, err, redislanes.ErrNotSent)
	matches := map[bool]func(assert.TestingT, error, error, ...any) bool{true: assert.ErrorIs, false: assert.NotErrorIs}
	matches[f.Refused()](t, err, redislanes.ErrRefused, text)
	assert.NotErrorIs(t, err, redislanes.ErrUnknownOutcome, "there was a reply")
}

// TestFatesOfHandshakes: a server that refuses a step of the handshake with the text. What
// passes is waited for, on connections of both kinds.
func TestFatesOfHandshakes(t *testing.T) {
	for _, way := range []string{"command", "blocking"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := within(t, 30*time.Second)
			for _, text := range fateTexts {
				m, client := newGrump(t, cluster.Config{})
				f, times := fate.Of([]byte(text)), 1<<30
				if f.PassesForDial() {
					times = 8 // several dials; each sends CLIENT twice
				}
				m.arm("CLIENT", text, times)
				err := fateWays[way].do(ctx, client)
				if f.PassesForDial() || f.Unsupported() || f == fate.NoPermission {
					assert.NoError(t, err, text)
					continue
				}
				var refused *redislanes.HandshakeError
				assert.ErrorAs(t, err, &refused, text)
				assert.ErrorIs(t, err, redislanes.ErrNotSent, text)
			}
		})
	}
}

// TestFatesAtTheStart: New waits for what passes.
func TestFatesAtTheStart(t *testing.T) {
	t.Parallel()
	for _, text := range fateTexts {
		f := newFake(t)
		var mu sync.Mutex
		refused := false
		f.slots = func() string {
			mu.Lock()
			defer mu.Unlock()
			if !refused {
				refused = true
				return "-" + text + "\r\n"
			}
			return slotMap(f.addr())
		}
		f.start()
		client, err := cluster.Config{RefreshEvery: -1}.New(within(t, 20*time.Second), []string{f.addr()})
		if fate.Of([]byte(text)).Refused() {
			require.NoError(t, err, text)
			require.NoError(t, client.Close())
		} else {
			require.Error(t, err, text)
		}
	}
}
