package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// What must not be seen anywhere: passwords, keys, values and scripts contain
// the first; numbers among the values are the second, which has more digits than
// the nanoseconds of a time: a shorter one was found in them once.
const canary, numberCanary = "canary", "42424242424242"

// A coalMine collects all texts that the library writes.
type coalMine struct {
	mu    sync.Mutex // guards what follows
	log   bytes.Buffer
	seen  int
	found map[string]string // where each text that is none of its business was seen first
}

func newCoalMine() *coalMine { return &coalMine{found: make(map[string]string)} }

// Write is for the logger.
func (m *coalMine) Write(line []byte) (int, error) {
	m.check("log", string(line))
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.Write(line)
}

func (m *coalMine) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(m, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (m *coalMine) check(what, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen++
	if strings.Contains(text, canary) || strings.Contains(text, numberCanary) {
		text = text[:min(len(text), 300)]
		if _, known := m.found[text]; !known {
			m.found[text] = what
		}
	}
}

// show formats a value in every way.
func (m *coalMine) show(what string, v any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		m.check(what+" "+verb, fmt.Sprintf(verb, v))
	}
}

// failed takes an error that must have happened, with all that it wraps.
func (m *coalMine) failed(t *testing.T, what string, err error) {
	t.Helper()
	require.Error(t, err, what)
	before := m.count()
	m.check(what, err.Error())
	if m.count() > before {
		return // its parts are no better
	}
	m.walk(what, err)
}

func (m *coalMine) walk(what string, err error) {
	m.show(what, err)
	switch x := err.(type) { //nolint:errorlint // this looks at each error of the chain by itself
	case interface{ Unwrap() error }:
		if inner := x.Unwrap(); inner != nil {
			m.walk(what, inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range x.Unwrap() {
			m.walk(what, inner)
		}
	}
}

func (m *coalMine) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.found)
}

// end reports what was found.
func (m *coalMine) end(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	t.Logf("%d texts, %d bytes of log", m.seen, m.log.Len())
	require.NotZero(t, m.seen)
	for text, what := range m.found {
		t.Errorf("%s: %s", what, text)
	}
}

const mineKey = "{mine}canary-key"

// refusedCommands lists commands that a server refuses, each for another
// reason.
var refusedCommands = [][]string{
	{"LPUSH", mineKey, "canary-value"},
	{"INCRBY", mineKey, "canary-value"},
	{"INCRBY", mineKey, "42424242424242"},
	{"INCRBYFLOAT", mineKey, "canary-value"},
	{"SET", mineKey, "canary-value", "canary-option"},
	{"SET", mineKey, "canary-value", "EX", "-42424242424242"},
	{"GET", mineKey, "canary-value"},
	{"EXPIRE", mineKey, "canary-value"},
	{"SETRANGE", mineKey, "canary-value", "x"},
	{"GETEX", mineKey, "EX", "canary-value"},
	{"NOSUCHCOMMAND", mineKey, "canary-value"},
	{"OBJECT", "canary-sub", mineKey},
	{"XADD", mineKey + "x", "canary-id", "f", "canary-value"},
	{"XREADGROUP", "GROUP", "canary-group", "c", "STREAMS", mineKey + "x", ">"},
	{"XGROUP", "CREATE", mineKey + "x", "canary-group", "$"},
	{"XGROUP", "SETID", mineKey + "x", "canary-group", "$"},
	{"XCLAIM", mineKey + "x", "canary-group", "c", "canary-time", "1-1"},
	{"XINFO", "GROUPS", mineKey + "x"},
	{"GEOADD", mineKey + "g", "42424242424242", "42424242424242", "canary-member"},
	{"GEOSEARCH", mineKey + "g", "FROMMEMBER", "canary-member", "BYRADIUS", "1", "canary-unit"},
	{"ZADD", mineKey + "z", "canary-score", "m"},
	{"ZRANGE", mineKey + "z", "canary-from", "canary-to"},
	{"HINCRBY", mineKey, "f", "42424242424242"},
	{"BITOP", "canary", mineKey, mineKey},
	{"BITFIELD", mineKey, "GET", "canary", "0"},
	{"RESTORE", mineKey + "r", "0", "canary-value"},
	{"LPOS", mineKey, "canary-value", "RANK", "canary"},
	{"SORT", mineKey, "canary"},
	{"PFADD", mineKey, "canary-value"},
	{"FLUSHALL", "canary"},
	{"CONFIG", "SET", "requirepass", "canary", "canary"},
	{"CONFIG", "SET", "maxmemory", "canary"},
	{"ACL", "SETUSER", "app", ">canary", "canary"},
	{"ACL", "SETUSER", "app", "~canary"},
	{"CLUSTER", "ADDSLOTS", "canary"},
	{"CLUSTER", "SETSLOT", "42424242424242", "NODE", "canary"},
	{"CLUSTER", "REPLICATE", "canary"},
	{"SCRIPT", "LOAD", "canary-script"},
	{"EVALSHA", "canary", "1", mineKey},
	{"EVAL", "canary-script", "1", mineKey},
	{"EVAL", "return 'canary", "1", mineKey},
	{"EVAL", "return canary_script(KEYS[1])", "1", mineKey},
	{"EVAL", "local canary_script = nil; return canary_script.field", "1", mineKey},
	{"EVAL", "return redis.call('INCRBY', KEYS[1], ARGV[1])", "1", mineKey, "canary-value"},
	{"EVAL", "return redis.call('canary-command', KEYS[1])", "1", mineKey},
	{"EVAL", "return 1 + ARGV[1]", "1", mineKey, "canary-value"},
	{"EVAL", "#!canary-script\nreturn 1", "1", mineKey},
	{"EVAL", "#!lua flags=canary-script\nreturn 1", "1", mineKey},
	{"EVAL", "#!lua canary-script=1\nreturn 1", "1", mineKey},
	{"FCALL", "canary-script", "1", mineKey},
	{"FUNCTION", "LOAD", "#!canary-script name=x\nreturn 1"},
	{"FUNCTION", "LOAD", "#!lua canary-script\nreturn 1"},
	{"FUNCTION", "LOAD", "#!lua name=canary-script\nreturn 1"},
	{"FUNCTION", "LOAD", "#!lua name=canary_script\nreturn canary_script()"},
	{"FUNCTION", "DELETE", "canary-script"},
	{"MULTI"},
	{"SELECT", "42424242424242"},
}

// TestCanaryInServerErrors lets a real cluster refuse commands in every way,
// through every door of the library.
func TestCanaryInServerErrors(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Username: "app", Password: "canary-password"})
	ctx := within(t, 30*time.Second)
	forbidden := "-acl|setuser"
	if real.Major() < 7 {
		forbidden = "-acl"
	}
	for _, n := range real.Nodes() {
		require.NoError(t, n.Do(ctx, nil, "ACL", "SETUSER", "app", "-flushall", forbidden))
	}
	mine := newCoalMine()
	config := cluster.Config{Logger: mine.logger(), Dialer: lanes.Dialer{Username: "app", Password: "canary-password"}}
	client := open(t, config, real.Addrs())
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", mineKey, "canary-value")))
	owner, err := real.Owner(ctx, cluster.Slot(mineKey))
	require.NoError(t, err)
	direct, err := pool.Custom(pool.Laned{}, config.Dialer)(ctx, "tcp", owner.Addr())
	require.NoError(t, err)
	defer direct.Close()
	for door, do := range doors(client, direct) {
		for _, command := range refusedCommands {
			name := door + ": " + strings.Join(command[:min(2, len(command))], " ")
			if err := do(ctx, command); err != nil { // MULTI and SELECT are good for some doors
				mine.failed(t, name, err)
			}
		}
	}
	transactionErrors(t, ctx, mine, client)
	decodingErrors(t, ctx, mine, client)
	showAll(t, mine, config, client, direct)
	mine.end(t)
}

// doors are the ways in which a command can be sent.
func doors(client *cluster.Client, direct radix.Client) map[string]func(context.Context, []string) error {
	cmd := func(command []string) radix.Action {
		return radix.Cmd(nil, command[0], command[1:]...)
	}
	return map[string]func(context.Context, []string) error{
		"Pipeline.Cmd": func(ctx context.Context, command []string) error {
			p := pipeline.New(client)
			p.Cmd(command[0], anys(command[1:])...)
			return p.Do(ctx)
		},
		"Pipeline.Append": func(ctx context.Context, command []string) error {
			p := pipeline.New(client)
			p.Append(radix.Cmd(new(any), command[0], command[1:]...))
			return p.Do(ctx)
		},
		"Client.Do": func(ctx context.Context, command []string) error { return client.Do(ctx, cmd(command)) },
		"Client.Cmd": func(ctx context.Context, command []string) error {
			return client.Cmd(ctx, command[0], command[1:]).Err()
		},
		"Client.Do with a receiver": func(ctx context.Context, command []string) error {
			return client.Do(ctx, radix.Cmd(new(string), command[0], command[1:]...))
		},
		"radix.Pipeline": func(ctx context.Context, command []string) error {
			if !cmd(command).Properties().CanPipeline {
				return nil // radix would panic
			}
			p := radixPipeline(radix.Cmd(new(string), "GET", mineKey), cmd(command))
			return client.Do(ctx, p)
		},
		"radix.WithConn": func(ctx context.Context, command []string) error {
			return client.Do(ctx, radix.WithConn(mineKey, func(ctx context.Context, conn radix.Conn) error {
				return conn.Do(ctx, cmd(command))
			}))
		},
		"Client.Clients": func(ctx context.Context, command []string) error {
			sets, err := client.Clients()
			if err != nil {
				return err
			}
			return sets[direct.Addr().String()].Primary.Do(ctx, cmd(command))
		},
		"Pool.Do": func(ctx context.Context, command []string) error { return direct.Do(ctx, cmd(command)) },
	}
}

// transactionErrors are those of MULTI, EXEC and of radix's scripts.
func transactionErrors(t *testing.T, ctx context.Context, mine *coalMine, client *cluster.Client) {
	t.Helper()
	err := client.Do(ctx, radix.WithConn(mineKey, func(ctx context.Context, conn radix.Conn) error {
		require.NoError(t, conn.Do(ctx, radix.Cmd(nil, "MULTI")))
		require.Error(t, conn.Do(ctx, radix.Cmd(nil, "INCRBY", mineKey)))
		return conn.Do(ctx, radix.Cmd(nil, "EXEC"))
	}))
	require.ErrorContains(t, err, "EXECABORT")
	mine.failed(t, "EXEC", err)
	for _, text := range []string{"return redis.call('INCRBY', KEYS[1], ARGV[1])", "canary-script", "return canary_script()"} {
		mine.failed(t, "EvalScript", client.Do(ctx, radix.NewEvalScript(text).Cmd(nil, []string{mineKey}, "canary-value")))
	}
}

// decodingErrors are those of replies that do not fit their receivers.
func decodingErrors(t *testing.T, ctx context.Context, mine *coalMine, client *cluster.Client) {
	t.Helper()
	var n int
	var f float64
	var list []int
	for name, into := range map[string]any{"int": &n, "float": &f, "list": &list} {
		mine.failed(t, "Client.Do into "+name, client.Do(ctx, radix.Cmd(into, "GET", mineKey)))
		p := pipeline.New(client)
		appended, reply := p.Append(radix.Cmd(into, "GET", mineKey)), p.Cmd("GET", mineKey)
		mine.failed(t, "Pipeline.Append into "+name, p.Do(ctx))
		mine.failed(t, "Reply.Err into "+name, appended.Err())
		mine.failed(t, "Reply.Into "+name, reply.Into(into))
		_, err := reply.Int()
		mine.failed(t, "Reply.Int", err)
	}
}

// showAll prints what there is to print, and the metrics.
func showAll(t *testing.T, mine *coalMine, config cluster.Config, client *cluster.Client, direct radix.Client) {
	t.Helper()
	clients, err := client.Clients()
	require.NoError(t, err)
	registry := prometheus.NewPedanticRegistry()
	collector := metrics.NewCollector(client)
	require.NoError(t, registry.Register(collector))
	for _, v := range []any{config, &config, config.Dialer, client, clients, client.Stats(), direct, direct.(*pool.Pool).Stats(), config.Pool} {
		mine.show(fmt.Sprintf("%T", v), v)
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	for _, family := range families {
		var text bytes.Buffer
		_, err := expfmt.MetricFamilyToText(&text, family)
		require.NoError(t, err)
		mine.check("metrics", text.String())
	}
}

// TestErrorsShowNoArguments: whatever command of the server fails with whatever arguments, its
// error does not show them.
func TestErrorsShowNoArguments(t *testing.T) {
	t.Parallel()
	real := servers.StartServer(t, servers.Options{})
	if real.Major() < 7 {
		t.Skip("COMMAND LIST needs Redis 7")
	}
	ctx := within(t, time.Minute)
	client := open(t, cluster.Config{}, real.Addrs())
	names, err := cluster.As[[]string](client.Cmd(ctx, "COMMAND", "LIST"))
	require.NoError(t, err)
	for _, sub := range []string{"LOAD", "DELETE", "DUMP", "FLUSH", "LIST", "RESTORE"} {
		names = append(names, "FUNCTION "+sub)
	}
	for _, sub := range []string{"SETUSER", "LOAD", "CAT", "LOG", "DRYRUN", "GENPASS"} {
		names = append(names, "ACL "+sub)
	}
	const canary = "canary"
	shapes := []string{canary, "s " + canary, "1 " + canary, "s 1 " + canary, "s 1 2 " + canary, "1 s " + canary + " " + canary, "s s " + canary + " " + canary}
	for n := range 3 {
		shapes = append(shapes, canary+strings.Repeat(" "+canary, n+1))
	}
	without := []string{"debug", "failover", "flushall", "flushdb", "replicaof", "save", "bgsave", "shutdown", "slaveof"}
	failed := 0
	for _, name := range names {
		if slices.Contains(without, name) {
			continue
		}
		for _, shape := range shapes {
			words := strings.Fields(name + " " + shape)
			short := within(t, 100*time.Millisecond) // for those that block
			if err := client.Cmd(short, words[0], words[1:]).Err(); err != nil {
				failed++
				require.NotContains(t, err.Error(), canary, "%s %s", name, shape)
			}
		}
	}
	require.Greater(t, failed, 1000)
}

// TestNothingPrintsThePassword formats everything that holds it.
func TestNothingPrintsThePassword(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{Password: "canary"})
	config := cluster.Config{Dialer: lanes.Dialer{Password: "canary"}}
	client := open(t, config, server.Addrs())
	p, err := nodepool.NewFor(nodepool.Settings{}, config.Dialer, wire.Purpose{}, server.Addrs()[0], nil)
	require.NoError(t, err)
	defer p.Close()
	clients, err := client.Clients()
	require.NoError(t, err)
	for _, v := range []any{config, &config, client, p, clients, client.Stats()} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			require.False(t, strings.Contains(fmt.Sprintf(verb, v), "canary"), "%T with %s", v, verb)
		}
	}
}
