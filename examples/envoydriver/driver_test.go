package envoydriver

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

// TestReceivers: of all types that the service's programs use, by both ways.
func TestReceivers(t *testing.T) {
	t.Parallel()
	client := connect(t, topologies["cluster"](t))
	pipe := func(rcv any, cmd, key string, args ...any) error {
		return client.PipeDo(t.Context(), client.PipeAppend(nil, rcv, cmd, key, args...))
	}
	for name, do := range map[string]func(rcv any, cmd, key string, args ...any) error{"DoCmd": client.DoCmd, "PipeDo": pipe} {
		t.Run(name, func(t *testing.T) {
			var text string
			require.NoError(t, do(nil, "SET", "text"+name, "bar"))
			require.NoError(t, do(&text, "GET", "text"+name))
			require.Equal(t, "bar", text)
			require.NoError(t, do(nil, "SET", "text"+name, []byte("\x00\xff")))
			require.NoError(t, do(&text, "GET", "text"+name))
			require.Equal(t, "\x00\xff", text)

			var small uint32
			require.NoError(t, do(&small, "INCRBY", "n"+name, uint32(2)))
			require.EqualValues(t, 2, small)
			var large uint64
			require.NoError(t, do(&large, "INCRBY", "n"+name, int64(1)<<40))
			require.Equal(t, uint64(1<<40+2), large)
			missing := uint64(7)
			require.NoError(t, do(&missing, "GET", "no"+name))
			require.Zero(t, missing)
			require.ErrorContains(t, do(&small, "GET", "text"+name), "GET")
		})
	}
	require.NoError(t, client.PipeDo(t.Context(), nil))
}

// TestCommandErrors: an error of one command is a RedisError of the call, and takes
// nothing from the others.
func TestCommandErrors(t *testing.T) {
	t.Parallel()
	client := connect(t, topologies["cluster"](t))
	keys := redistest.KeysInSlots(5, "wrong")
	require.NoError(t, client.DoCmd(nil, "RPUSH", keys[2], "not a number"))
	totals, err := hit(client, keys, 3)
	requireRedisError(t, err, "WRONGTYPE")
	require.Equal(t, []uint64{3, 3, 0, 3, 3}, totals)
	var failure *redislanes.PipelineError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, 1, failure.Failed)

	requireRedisError(t, client.DoCmd(nil, "INCRBY", keys[2], 1), "WRONGTYPE")
	requireRedisError(t, client.DoCmd(nil, "INCRBY", keys[0], "much"), "not an integer")
}

func requireRedisError(tb testing.TB, err error, text string) {
	tb.Helper()
	var own RedisError
	require.ErrorAs(tb, err, &own)
	require.Equal(tb, err.Error(), own.Error())
	require.ErrorContains(tb, err, text)
	require.NotContains(tb, err.Error(), "canary")
}

// TestRefused: settings and servers that cannot be used are errors of New, without
// a connection that stays and without a secret. Settings are not tried again.
func TestRefused(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	e.Nodes()[0].RequireUserAuth("limiter", password)
	single := servers.StartServer(t, servers.Options{}).Addrs()[0]
	locked := e.Addrs()[0]
	for name, c := range map[string]struct {
		options  Options
		want     string
		connects bool // Startup tries again; it does not with other settings
	}{
		"type":                    {Options{Type: "MEMCACHE", URL: single}, "want SINGLE, CLUSTER or SENTINEL", false},
		"no type":                 {Options{URL: single}, "want SINGLE, CLUSTER or SENTINEL", false},
		"no address":              {Options{Type: "SINGLE"}, "address 1", false},
		"two addresses":           {Options{Type: "SINGLE", URL: single + "," + single}, "2 addresses", false},
		"socket type":             {Options{Type: "SINGLE", SocketType: "udp", URL: single}, "want tcp; or unix", false},
		"socket of a cluster":     {Options{Type: "CLUSTER", SocketType: "unix", URL: "/redis.sock"}, "the type SINGLE", false},
		"address as a socket":     {Options{Type: "SINGLE", SocketType: "unix", URL: single}, "absolute path", false},
		"no such socket":          {Options{Type: "SINGLE", SocketType: "unix", URL: "/no/redis.sock"}, "no such file", true},
		"no Sentinels":            {Options{Type: "SENTINEL", URL: servers.PrimaryName}, "want name,host:port", false},
		"no name":                 {Options{Type: "SENTINEL", URL: "," + single}, "want name,host:port", false},
		"user without a password": {Options{Type: "SINGLE", URL: single, Auth: "u:"}, `Auth: lanes: Dialer.Username = "u" without a Password`, false},
		"user of the Sentinels": {Options{Type: "SENTINEL", URL: "mymaster," + single, SentinelAuth: "u:"},
			`Options.SentinelAuth: lanes: Dialer.Username = "u" without`, false},
		"short timeout": {Options{Type: "SINGLE", URL: single, Timeout: 10}, "Options.Timeout or Auth: lanes: Dialer.Timeout = 10ns", false},
		"many lanes":    {Options{Type: "SINGLE", URL: single, PoolSize: 5000}, "Options.PoolSize: pool: Laned.Lanes = 5000: must be at most", false},
		"startup": {Options{Type: "SINGLE", URL: single, Startup: &Startup{InitialInterval: -time.Second}},
			"Options.Startup = {InitialInterval:-1s MaxInterval:0s MaxElapsedTime:0s}", false},
		"no cluster":            {Options{Type: "CLUSTER", URL: single}, "cluster support disabled", true},
		"nobody there":          {Options{Type: "SINGLE", URL: "127.0.0.1:1"}, "refused", true},
		"no password":           {Options{Type: "SINGLE", URL: locked}, "NOAUTH", true},
		"wrong password":        {Options{Type: "SINGLE", URL: locked, Auth: "limiter:canary-wrong"}, "WRONGPASS", true},
		"secret in the address": {Options{Type: "CLUSTER", URL: "limiter:canary-wrong@" + locked}, "URL", false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := servers.Within(t, patience)
			if !c.connects {
				c.options.Startup = cmp.Or(c.options.Startup, new(Startup))
			}
			client, err := New(ctx, c.options)
			require.Nil(t, client)
			requireRedisError(t, err, c.want)
			require.NoError(t, ctx.Err(), "at once")
		})
	}
}

// TestRoutingKey: EVAL, whose first argument is no key, goes to the node of its key.
func TestRoutingKey(t *testing.T) {
	t.Parallel()
	client := connect(t, topologies["cluster"](t))
	keys := redistest.KeysInSlots(5, "script")
	totals := make([]uint64, len(keys))
	var p Pipeline
	for i, key := range keys {
		p = client.PipeAppend(p, nil, "SET", key, 10)
		p = client.PipeAppendWithRoutingKey(p, key, &totals[i], "EVAL", "return redis.call('DECRBY', KEYS[1], ARGV[1])", 1, key, i)
		require.Equal(t, key, p[2*i+1].Key)
		require.Equal(t, []string{key}, p[2*i+1].Action.Properties().Keys)
	}
	require.NoError(t, client.PipeDo(t.Context(), p))
	require.Equal(t, []uint64{10, 9, 8, 7, 6}, totals)
}

// TestWithoutContext: a Driver serves such a service, and its calls end by themselves.
func TestWithoutContext(t *testing.T) {
	t.Parallel()
	c := servers.StartServer(t, servers.Options{})
	client := WithoutContext{connect(t, Options{Type: "SINGLE", URL: c.Addrs()[0], Timeout: time.Second})}
	var total uint64
	require.NoError(t, client.PipeDo(client.PipeAppend(nil, &total, "INCRBY", "a", uint64(1))))
	require.EqualValues(t, 1, total)
	require.NoError(t, c.Nodes()[0].Pause())
	err := client.PipeDo(client.PipeAppend(nil, &total, "INCRBY", "a", uint64(1)))
	requireRedisError(t, err, "")
	require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
	require.NoError(t, c.Nodes()[0].Resume())
}
