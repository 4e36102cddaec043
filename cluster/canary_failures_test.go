package cluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// badAnswers are answers after which calls fail.
var badAnswers = map[string]func(io.Writer, []string) bool{
	"silence":           func(io.Writer, []string) bool { return true },
	"hanging up":        func(io.Writer, []string) bool { return false },
	"half a reply":      func(w io.Writer, cmd []string) bool { _, _ = io.WriteString(w, "$100\r\ncanary-value"); return false },
	"not RESP":          say("canary-value\r\n"),
	"bad length":        say("$canary\r\n"),
	"bad integer":       say(":canary-value\r\n"),
	"bad float":         say(",canary-value\r\n"),
	"bad boolean":       say("#canary-value\r\n"),
	"bad big number":    say("(canary-value\r\n"),
	"bad null":          say("_canary-value\r\n"),
	"text":              say("+canary-value\r\n"),
	"bulk":              say("$12\r\ncanary-value\r\n"),
	"array":             say("*2\r\n$12\r\ncanary-value\r\n$10\r\ncanary-key\r\n"),
	"map":               say("%1\r\n$10\r\ncanary-key\r\n$12\r\ncanary-value\r\n"),
	"quoting error":     say("-ERR I do not like 'canary-value'\r\n"),
	"quoting blob":      say("!18\r\nERR 'canary-value'\r\n"),
	"error of lines":    say("!22\r\nERR no\r\ncanary-value\r\n\r\n"),
	"TRYAGAIN":          say("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"),
	"CLUSTERDOWN":       say("-CLUSTERDOWN Hash slot not served\r\n"),
	"LOADING":           say("-LOADING Redis is loading the dataset in memory\r\n"),
	"READONLY":          say("-READONLY You can't write against a read only replica.\r\n"),
	"MOVED to nowhere":  say("-MOVED 0 127.0.0.1:1\r\n"),
	"MOVED to nonsense": say("-MOVED 99999 nonsense\r\n"),
	"ASK for ever":      say("-ASK 0 127.0.0.1:1\r\n"),
}

// TestCanaryInFailures lets calls fail in all ways that are not a real server's
// reply.
func TestCanaryInFailures(t *testing.T) {
	t.Parallel()
	mine := newCoalMine()
	config := cluster.Config{Logger: mine.logger(), RefreshEvery: -1, RetryWindow: 10 * time.Millisecond,
		Dialer: lanes.Dialer{Username: "app", Password: "canary-password"}}
	for name, answer := range badAnswers {
		for kind, p := range poolKinds {
			f := newFake(t)
			f.answer = answer
			f.start()
			config.Pool = p
			client := open(t, config, []string{f.addr()})
			failEverything(t, mine, name+", "+kind, client)
			f.close()                                // now it cannot be dialled
			if name == "silence" || name == "text" { // what was said before matters no more
				failEverything(t, mine, name+" and then closed, "+kind, client)
			}
			require.NoError(t, client.Close())
			if name == "silence" || name == "text" {
				failEverything(t, mine, "closed client", client)
			}
		}
	}
	exhaust(t, mine, config)
	mine.end(t)
}

// failEverything makes calls through every door, of which at least some fail.
func failEverything(t *testing.T, mine *coalMine, name string, client *cluster.Client) {
	t.Helper()
	soon := func() context.Context { return within(t, 5*time.Millisecond) }
	const key, value = "canary-key", "canary-value"
	p := pipeline.New(client)
	replies := []pipeline.Reply{
		p.IncrBy(key, 42424242424242), p.Cmd("SET", key, value), p.Cmd("GET", key), p.Cmd("EVAL", "canary-script", "1", key, value),
		p.Append(radix.Cmd(new(int), "GET", key)), p.Append(radix.Cmd(new([]float64), "LRANGE", key, "0", "-1")),
	}
	errs := map[string]error{"Pipeline.Do": p.Do(soon())}
	for _, r := range replies {
		_, intErr := r.Int()
		for _, err := range []error{r.Err(), intErr, r.Into(new(int)), r.Into(new([]float64)), r.Into(new(struct{ A int }))} {
			if err != nil {
				mine.failed(t, name+": Reply", err)
			}
		}
	}
	counters := pipeline.CountersConfig{}.New(client)
	hits := []pipeline.Hit{{Key: key, By: 42424242424242, TTL: time.Hour}}
	errs["Counters.Hit"] = counters.Hit(soon(), hits)
	errs["Hit.Err"] = hits[0].Err
	require.NoError(t, counters.Close())
	for door, action := range actions(key, value) {
		errs[door] = client.Do(soon(), action)
	}
	for door, action := range actions(key, value) { // radix uses the memory of actions again
		errs[door+" on a replica"] = client.DoSecondary(soon(), action)
	}
	for door, err := range errs {
		if err != nil { // some doors take any reply
			mine.failed(t, name+": "+door, err)
		}
	}
	mine.show("Client", client)
	mine.show("Stats", client.Stats())
}

// inPool returns the statistics of the only pool, if it exists yet.
func inPool(client *cluster.Client) (s redislanes.PoolStats) {
	for _, n := range client.Stats().Nodes {
		s = n.Pool
	}
	return s
}

func actions(key, value string) map[string]radix.Action {
	trip := radixPipeline(radix.Cmd(new(int), "GET", key), radix.Cmd(nil, "SET", key, value))
	return map[string]radix.Action{
		"Cmd": radix.Cmd(nil, "SET", key, value), "Cmd into int": radix.Cmd(new(int), "GET", key), "BLPOP": radix.Cmd(new([]int), "BLPOP", key, "42424242424242"),
		"EvalScript": radix.NewEvalScript("canary-script").Cmd(new(int), []string{key}, value), "radix.Pipeline": trip,
		"transaction": radixPipeline(radix.Cmd(nil, "MULTI"), radix.Cmd(new(int), "GET", key), radix.Cmd(nil, "EXEC")),
		"WithConn": radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(new(int), "GETSET", key, value))
		}),
	}
}

// exhaust fills pools of one connection, which hangs.
func exhaust(t *testing.T, mine *coalMine, config cluster.Config) {
	t.Helper()
	for name, kind := range map[string]pool.Config{
		"fail fast": pool.Fixed{Size: 1, Options: pool.Options{MaxWaiters: -1}},
		"waiters":   pool.Fixed{Size: 1, Options: pool.Options{MaxWaiters: 1}},
		"laned":     pool.Laned{Lanes: 1, MaxInFlight: 1, Options: pool.Options{MaxWaiters: 1}},
	} {
		f := newFake(t)
		f.answer = badAnswers["silence"]
		f.start()
		config.Pool = kind
		client := open(t, config, []string{f.addr()})
		ctx, cancel := context.WithCancel(within(t, 10*time.Second))
		set := func() error { return client.Do(ctx, radix.Cmd(nil, "SET", "canary-key", "canary-value")) }
		errs := make(chan error, 2)
		go func() { errs <- set() }()
		until(t, ctx, "the connection is in use", func() bool { return inPool(client).InUse == 1 })
		hanging := 1
		if name != "fail fast" {
			hanging = 2
			go func() { errs <- set() }()
			until(t, ctx, "somebody waits for it", func() bool { return inPool(client).Waiters == 1 })
		}
		err := set()
		require.ErrorIs(t, err, redislanes.ErrExhausted)
		mine.failed(t, name, err)
		cancel()
		for range hanging {
			mine.failed(t, name, <-errs)
		}
		require.NoError(t, client.Close())
	}
}

// TestCanaryInRefusedCalls: what is refused before anything is sent.
func TestCanaryInRefusedCalls(t *testing.T) {
	t.Parallel()
	mine := newCoalMine()
	f := newFake(t)
	f.start()
	client := open(t, cluster.Config{Logger: mine.logger()}, []string{f.addr()})
	ctx := within(t, 10*time.Second)
	for name, refused := range map[string]func(p *pipeline.Pipeline) pipeline.Reply{
		"slots":        func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("MGET", "canary-key", "canary-other") },
		"no name":      func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("", "canary-key") },
		"blocking":     func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("BLPOP", "canary-key", "0") },
		"stateful":     func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("WATCH", "canary-key") },
		"Append BLPOP": func(p *pipeline.Pipeline) pipeline.Reply { return p.Append(radix.Cmd(nil, "BLPOP", "canary-key", "0")) },
		"Append AUTH":  func(p *pipeline.Pipeline) pipeline.Reply { return p.Append(radix.Cmd(nil, "AUTH", "canary-password")) },
		"Append EVAL": func(p *pipeline.Pipeline) pipeline.Reply {
			return p.Append(radix.NewEvalScript("canary-script").Cmd(nil, []string{"canary-key", "canary-other"}))
		},
	} {
		p := pipeline.New(client)
		beside, reply := p.IncrBy("canary-key", 42424242424242), refused(p)
		mine.failed(t, name, p.Do(ctx))
		mine.failed(t, name, reply.Err())
		mine.failed(t, name, beside.Err())
		mine.failed(t, name, p.Do(ctx))
		mine.failed(t, name, client.Do(ctx, radix.Cmd(nil, "AUTH", "canary-password")))
		mine.show("Pipeline", p)
		p.Reset()
		mine.failed(t, name, reply.Err())
	}
	mine.end(t)
}

// TestCanaryInHandshakes: passwords that are refused, also by servers that
// quote them, and TLS that fails.
func TestCanaryInHandshakes(t *testing.T) {
	t.Parallel()
	mine := newCoalMine()
	ctx := within(t, 20*time.Second)
	fails := func(name string, d lanes.Dialer, addr string) {
		t.Helper()
		_, err := cluster.Config{Logger: mine.logger(), Dialer: d}.New(ctx, []string{addr})
		mine.failed(t, name, err)
		p, err := nodepool.NewFor(nodepool.Settings{}, d, wire.Purpose{}, addr, mine.logger())
		require.NoError(t, err)
		_, err = wire.Ask(ctx, p, []string{"SET", "canary-key", "canary-value"}).Reply(0)
		mine.failed(t, name, err)
		mine.show("Pool", p)
		mine.show("redislanes.PoolStats", p.Stats())
		require.NoError(t, p.Close())
	}
	// A plain server waits for the end of the line that TLS begins with.
	const patience = 100 * time.Millisecond
	secret := lanes.Dialer{Timeout: patience, Username: "app", Password: "canary-password", Protocol: 3}
	old := secret
	old.Protocol = 2
	asked := lanes.Dialer{Timeout: patience, Credentials: func(context.Context) (string, string, error) { return "app", "canary-password", nil }}
	for _, reply := range []string{
		"-WRONGPASS invalid username-password pair or user is disabled.\r\n", "-NOAUTH Authentication required.\r\n",
		"-ERR unknown command `AUTH`, with args beginning with: `app`, `canary-password`, \r\n",
		"-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `app`, `canary-pas\r\n",
		"-ERR canary-password is wrong\r\n", "$-7\r\n", "canary-password\r\n", "$canary-password\r\n", "-" + "MOVED 0 127.0.0.1:1\r\n",
	} {
		for command, d := range map[string][]lanes.Dialer{"AUTH": {old, asked}, "HELLO": {secret}} {
			f := newFake(t)
			f.hijack, f.answer = command, say(reply)
			f.start()
			for _, dialer := range d {
				fails(command+": "+reply, dialer, f.addr())
			}
		}
	}
	none := lanes.Dialer{Credentials: func(context.Context) (string, string, error) {
		return "app", "canary-password", errors.New("vault is closed")
	}}
	plain := servers.StartServer(t, servers.Options{Password: "canary-right"})
	fails("Credentials", none, plain.Addrs()[0])
	for _, d := range []lanes.Dialer{secret, old, asked} {
		fails("wrong password", d, plain.Addrs()[0])
		d.TLS = &tls.Config{}
		fails("TLS to plain text", d, plain.Addrs()[0])
		fails("closed port", d, closedPort(t))
		mine.show("Dialer", d)
	}
	t.Run("TLS", func(t *testing.T) {
		secure := servers.StartServer(t, servers.Options{TLS: true, Password: "canary-right"})
		for _, d := range []lanes.Dialer{secret, old, asked} {
			fails("plain text to TLS", d, secure.Addrs()[0])
			d.TLS = &tls.Config{}
			fails("unknown CA", d, secure.Addrs()[0])
		}
	})
	mine.end(t)
}
