package cluster_test

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// asked is an AddrMap that adds 1 to the port of each address and notes it. If
// it is applied twice, or to an address that was dialled, nobody answers.
type asked struct {
	mu    sync.Mutex // guards addrs
	addrs []string
}

func (a *asked) translate(addr string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.addrs = append(a.addrs, addr)
	host, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return net.JoinHostPort(host, strconv.Itoa(n+1))
}

func (a *asked) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.addrs)
}

// before is the address that translate turns into addr, with another host.
func before(addr, host string) string {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return net.JoinHostPort(host, strconv.Itoa(n-1))
}

// TestAddrMapOfRedirects: a MOVED without a host means the host that was dialled.
func TestAddrMapOfRedirects(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]string{"host": "127.0.0.1", "no host": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newFake(t), newFake(t)
			from.slots = func() string { return noCluster }
			from.answer = func(w io.Writer, cmd []string) bool {
				addr := before(to.addr(), host)
				if host == "" {
					_, port, _ := net.SplitHostPort(to.addr())
					addr = ":" + port
				}
				_, err := fmt.Fprintf(w, "-MOVED %d %s\r\n", cluster.Slot(cmd[1]), addr)
				return err == nil
			}
			to.slots = func() string { return "-ERR no map\r\n" } // it would be translated, too
			from.start()
			to.start()
			a := &asked{}
			client := open(t, cluster.Config{RefreshEvery: -1, AddrMap: a.translate}, []string{from.addr()})
			require.NoError(t, client.Do(within(t, 5*time.Second), radix.Cmd(nil, "INCR", "k")))
			require.EqualValues(t, 1, client.Stats().Moved)
			require.Len(t, a.seen(), len(host)/len("127.0.0.1"))
		})
	}
}

// TestAddrMapKnowsOnlySomeNodes: Config.AddrMap returns "" for addresses that it does not know, as
// a map of Go does. These nodes are left out, and are not taken for one node without an address.
func TestAddrMapKnowsOnlySomeNodes(t *testing.T) {
	t.Parallel()
	for _, unknown := range []string{"", "host", "host:", ":6379", "host:redis", "host:70000"} {
		f := newFake(t)
		f.slots = func() string { return slotMap(f.addr(), "far:6379", "farther:6379") }
		f.start()
		addrMap := func(addr string) string { return cmp.Or(map[string]string{f.addr(): f.addr()}[addr], unknown) }
		client := open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1, AddrMap: addrMap}, []string{f.addr()})
		ctx := within(t, 5*time.Second)
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", keyOf(0, 3))))
		err := client.Do(ctx, radix.Cmd(nil, "INCR", keyOf(2, 3)))
		require.ErrorIs(t, err, redislanes.ErrNoOwner, "%q", unknown)
		require.ErrorContains(t, err, "Config.AddrMap has no address for farther:6379", "%q", unknown)
	}
}
