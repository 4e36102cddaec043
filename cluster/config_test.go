package cluster_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

func TestNewRefusesBadSettings(t *testing.T) {
	t.Parallel()
	good := []string{"127.0.0.1:6379"}
	for _, c := range []struct {
		name   string
		config cluster.Config
		addrs  []string
		want   []string // parts of the error
	}{
		{"no address", cluster.Config{}, nil, []string{"no address"}},
		{"no port", cluster.Config{}, []string{"localhost"}, []string{"addrs[0]", `"localhost"`, "host:port"}},
		{"port 0", cluster.Config{}, []string{good[0], "h:0"}, []string{"addrs[1]", `"h:0"`}},
		{"port too large", cluster.Config{}, []string{"h:65536"}, []string{`"65536"`}},
		{"no host", cluster.Config{}, []string{":6379"}, []string{"host is empty"}},
		{"negative size", cluster.Config{Pool: pool.Fixed{Size: -1}}, good, []string{"Fixed.Size", "-1"}},
		{"size 1e9", cluster.Config{Pool: pool.Fixed{Size: 1e9}}, good, []string{"Fixed.Size = 1000000000", "at most 65536"}},
		{"refreshes without a pause", cluster.Config{RefreshEvery: 1}, good, []string{"RefreshEvery = 1ns", "at least 50ms", "negative for never"}},
		{"a window without a unit", cluster.Config{RetryWindow: 500}, good, []string{"RetryWindow = 500ns", "at least 1ms", "500 * time.Millisecond is 500ms", "negative for none"}},
		{"refreshes nearly so", cluster.Config{RefreshEvery: 49 * time.Millisecond}, good, []string{"RefreshEvery = 49ms"}},
		{"Min > Max", cluster.Config{Pool: pool.Adaptive{Min: 5, Max: 2}}, good, []string{"Adaptive.Min", "5", "Max", "2"}},
		{"negative lanes", cluster.Config{Pool: pool.Laned{Lanes: -4}}, good, []string{"Laned.Lanes", "-4"}},
		{"zones of nodes without its own", cluster.Config{ZoneOf: func(string) string { return "a" }}, good, []string{"Config.ZoneOf without Config.Zone"}},
		{"protocol", cluster.Config{Dialer: lanes.Dialer{Protocol: 4}}, good, []string{"Protocol", "4"}},
		{"user without password", cluster.Config{Dialer: lanes.Dialer{Username: "bob"}}, good, []string{"Username", "bob"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.config.New(t.Context(), c.addrs)
			for _, part := range c.want {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestNewListsEachUnreachableAddress(t *testing.T) {
	t.Parallel()
	addrs := []string{closedPort(t), closedPort(t)}
	_, err := cluster.Config{}.New(within(t, 5*time.Second), addrs)
	var unreachable *cause.Unreachable
	require.ErrorAs(t, err, &unreachable)
	require.Len(t, unreachable.Causes, 2)
	for _, addr := range addrs {
		require.ErrorContains(t, err, addr)
	}
	require.ErrorContains(t, err, "connection refused")
}

func TestNewEndsWithItsContext(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	_, err = cluster.Config{}.New(within(t, 30*time.Millisecond), []string{silent.Addr().String()})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, silent.Addr().String())
}

// TestNewRefusesASmallLimit: if the map of the slots is larger, New fails at once: no server would do.
func TestNewRefusesASmallLimit(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	ctx := within(t, 4*time.Second) // less than New asks again for a text that no server sends
	_, err := cluster.Config{Dialer: lanes.Dialer{MaxReply: 50}}.New(ctx, e.Addrs())
	require.ErrorContains(t, err, "Dialer.MaxReply")
	require.NoError(t, ctx.Err())
}

func TestOneSeedThatAnswersIsEnough(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, []string{closedPort(t), e.Addrs()[1]})
	require.Equal(t, cluster.SlotCount, client.Stats().Slots)
}

func TestWrongPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{Password: "right-canary"})
	_, err := cluster.Config{Dialer: lanes.Dialer{Password: "wrong-canary"}}.New(within(t, 5*time.Second), server.Addrs())
	require.ErrorContains(t, err, "WRONGPASS")
	require.NotContains(t, err.Error(), "canary")
	var refused *redislanes.HandshakeError
	require.True(t, errors.As(err, &refused))
	require.Equal(t, "AUTH", refused.Command)

	real := servers.StartCluster(t, servers.Options{Password: "right-canary"})
	_, err = cluster.Config{Dialer: lanes.Dialer{Password: "wrong-canary"}}.New(within(t, 5*time.Second), real.Addrs())
	require.Equal(t, 1, strings.Count(err.Error(), "WRONGPASS"), "the server's words once: %v", err)
	for _, addr := range real.Addrs() {
		require.ErrorContains(t, err, addr)
	}
}

func TestNilPool(t *testing.T) {
	t.Parallel()
	_, err := cluster.Config{Pool: (*pool.Fixed)(nil)}.New(t.Context(), []string{"127.0.0.1:1"})
	require.ErrorContains(t, err, "the Config is a nil *pool.Fixed")
}

func TestBadNamesOfSlowCommands(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]cluster.Config{
		`Slow[1] = ""`:            {Slow: []string{"GET", ""}},
		`Slow[0] = "CLIENT|LIST"`: {Slow: []string{"CLIENT|LIST"}},
	} {
		_, err := c.New(t.Context(), []string{"127.0.0.1:1"})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "cluster: ")
	}
}

// TestDatabasesOfACluster: Valkey 9 with cluster-databases has more than database 0 in a
// cluster. Other servers refuse the number when New connects.
func TestDatabasesOfACluster(t *testing.T) {
	options := servers.Options{Primaries: 2}
	numbered := servers.StartCluster(t, options)
	second := cluster.Config{Dialer: lanes.Dialer{Database: 1}}
	if !numbered.IsValkey() || numbered.Major() < 9 {
		_, err := second.New(t.Context(), numbered.Addrs())
		require.ErrorContains(t, err, "SELECT")
		return
	}
	options.Directives = []string{"cluster-databases 16"}
	numbered = servers.StartCluster(t, options)
	client := open(t, second, numbered.Addrs())
	first, err := cluster.Config{}.New(t.Context(), numbered.Addrs())
	require.NoError(t, err)
	defer first.Close()
	for _, key := range []string{"a", "b", "c"} { // on both nodes
		require.NoError(t, client.Cmd(t.Context(), "SET", key, "in database 1").Err())
		require.True(t, first.Cmd(t.Context(), "GET", key).IsNull())
		got, err := client.Cmd(t.Context(), "GET", key).Text()
		require.NoError(t, err)
		require.Equal(t, "in database 1", got)
	}
}

// TestZeroClientHasNoStats: a client that New has not made has the zero statistics.
func TestZeroClientHasNoStats(t *testing.T) {
	for _, unmade := range []*cluster.Client{nil, {}} {
		require.Zero(t, unmade.Stats())
	}
}
