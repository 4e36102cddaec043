package cluster_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// TestAddressesThatCannotBeDialled: an address of a map, a redirect or an AddrMap that
// would be refused by New fails its commands, and nothing else.
func TestAddressesThatCannotBeDialled(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"user@host", "host?x", "a#b", "a,b"} {
		t.Run(bad, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.slots = func() string {
				_, port, _ := net.SplitHostPort(f.addr())
				return fmt.Sprintf("*2\r\n*3\r\n:0\r\n:8191\r\n*3\r\n%s:%s\r\n$1\r\nx\r\n*3\r\n:8192\r\n:16383\r\n*3\r\n%s:%s\r\n$1\r\ny\r\n",
					bulk("127.0.0.1"), port, bulk(bad), port)
			}
			f.start()
			client := open(t, cluster.Config{RefreshEvery: -1}, []string{f.addr()})
			good, wrong := keyOf(0, 2), keyOf(1, 2)
			require.NoError(t, client.Do(within(t, 5*time.Second), radix.Cmd(nil, "INCR", good)))
			err := client.Do(within(t, 100*time.Millisecond), radix.Cmd(nil, "INCR", wrong))
			require.ErrorIs(t, err, redislanes.ErrNotSent)
		})
	}
	t.Run("AddrMap", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.start()
		_, err := cluster.Config{AddrMap: func(string) string { return "redis://:canary@host:1" }}.New(within(t, time.Second), []string{f.addr()})
		require.ErrorContains(t, err, "AddrMap")
		require.NotContains(t, err.Error(), "canary")
	})
}
