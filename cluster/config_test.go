package cluster_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
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
		{"protocol", cluster.Config{Dialer: lanes.Dialer{Protocol: 4}}, good, []string{"Protocol", "4"}},
		{"an empty slow command", cluster.Config{Slow: []string{"GET", ""}}, good, []string{`cluster: `, `Slow[1] = ""`}},
		{"a slow subcommand", cluster.Config{Slow: []string{"CLIENT|LIST"}}, good, []string{`Slow[0] = "CLIENT|LIST"`}},
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

func TestNewEndsWithItsContext(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	_, err = cluster.Config{}.New(within(t, 30*time.Millisecond), []string{silent.Addr().String()})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, silent.Addr().String())
}
