package cluster_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

// oddMap is a reply to CLUSTER SLOTS: the first half of the slots is the primary's at the
// address, of which other is a replica, the second half is other's.
func oddMap(addr, other string) string {
	host, port, _ := strings.Cut(addr, ":")
	primary := fmt.Sprintf("*3\r\n%s:%s\r\n%s", bulk(host), port, bulk("one"))
	return "*2\r\n*4\r\n:0\r\n:8191\r\n" + primary + other + "*4\r\n:8192\r\n:16383\r\n" + other + primary
}

// A lockedBuffer is a log.
type lockedBuffer struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

// TestOddNodeOfAMap: a node that cannot be used costs its own slots only, at the start and
// of a client that runs; the log is told once.
func TestOddNodeOfAMap(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]string{
		"port 0":             "*4\r\n" + bulk("127.0.0.1") + ":0\r\n" + bulk("two") + "*0\r\n",
		"port 0, no address": "*4\r\n$-1\r\n:0\r\n" + bulk("two") + "_\r\n",
		"odd host":           "*3\r\n" + bulk("no host") + ":6379\r\n" + bulk("two"),
		"no node":            "$-1\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			var mu sync.Mutex
			slots := slotMap(f.addr())
			f.slots = func() string {
				mu.Lock()
				defer mu.Unlock()
				return slots
			}
			f.start()
			ctx := within(t, 10*time.Second)
			allOdd := newFake(t)
			allOdd.slots = func() string { return "*1\r\n*3\r\n:0\r\n:16383\r\n" + odd }
			allOdd.start()
			_, err := cluster.Config{}.New(ctx, []string{allOdd.addr()})
			require.ErrorContains(t, err, "no primary in its CLUSTER SLOTS reply can be used")
			running := open(t, cluster.Config{RefreshEvery: -1}, []string{f.addr()})
			require.NoError(t, running.Sync(ctx))
			mu.Lock()
			slots = oddMap(f.addr(), odd)
			mu.Unlock()
			require.NoError(t, running.Sync(ctx))
			require.Equal(t, 8192, running.Stats().Slots, "the new map, although it has an odd row")

			var log lockedBuffer
			client := open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))}, []string{f.addr()})
			for range 3 {
				require.NoError(t, client.Sync(ctx))
			}
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", redistest.KeyInSlot(0, "odd"))))
			err = client.Do(ctx, radix.Cmd(nil, "INCR", redistest.KeyInSlot(lastSlot, "odd")))
			require.ErrorIs(t, err, redislanes.ErrNoOwner)
			require.ErrorIs(t, err, redislanes.ErrNotSent)
			require.ErrorContains(t, err, "is left out of the map: ")
			if strings.HasPrefix(name, "port 0") {
				require.ErrorContains(t, err, "set Config.Dialer.TLS")
			}
			require.NoError(t, client.Close()) // the log is complete
			require.Equal(t, 1, strings.Count(log.String(), "left out of the map"), log.String())
		})
	}
}

// TestAddrMapHasNoAddressForANode: what Config.AddrMap returns for a node cannot be dialled,
// which costs the slots of that node only.
func TestAddrMapHasNoAddressForANode(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.slots = func() string { return oddMap(f.addr(), "*3\r\n"+bulk("far")+":6379\r\n"+bulk("two")) }
	f.start()
	ctx := within(t, 10*time.Second)
	addrMap := func(addr string) string {
		if addr == "far:6379" {
			return "fd00::7"
		}
		return addr
	}
	client := open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1, AddrMap: addrMap}, []string{f.addr()})
	require.NoError(t, client.Sync(ctx))
	require.Equal(t, 8192, client.Stats().Slots)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", redistest.KeyInSlot(0, "odd"))))
	err := client.Do(ctx, radix.Cmd(nil, "INCR", redistest.KeyInSlot(lastSlot, "odd")))
	require.ErrorIs(t, err, redislanes.ErrNoOwner)
	require.ErrorContains(t, err, "Config.AddrMap returned for far:6379 what cannot be dialled")
}

// TestWithheldMapBesideAStranger: a server of another cluster has taken the address of one of
// two nodes. The other one is there, but its map cannot be had for now. The stranger is not
// believed, however often it is asked.
func TestWithheldMapBesideAStranger(t *testing.T) {
	t.Parallel()
	const addrMapPanics = ""
	for _, reply := range []string{
		addrMapPanics, "-LOADING Redis is loading the dataset in memory\r\n", "-BUSY Redis is busy\r\n",
		"-MASTERDOWN Link with MASTER is down\r\n", "-ERR the operator is at lunch\r\n",
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			var withheld atomic.Bool
			s := newScripted(t, 0)
			for i := range 2 {
				f := newFake(t)
				f.id = id(i)
				f.nodes = func() string { _, nodes := s.replies(f); return nodes }
				f.slots = func() string {
					slots, _ := s.replies(f)
					if i == 1 && withheld.Load() && reply != addrMapPanics {
						return reply
					}
					return slots
				}
				s.fakes = append(s.fakes, f)
			}
			s.all(s.parts("node"))
			for _, f := range s.fakes {
				f.start()
			}
			addrMap := func(addr string) string {
				if reply == addrMapPanics && withheld.Load() && addr == s.fakes[1].addr() {
					panic("no answer")
				}
				return addr
			}
			client := s.open(t, cluster.Config{AddrMap: addrMap})
			before := client.Primary(lastSlot)
			withheld.Store(true)
			s.tell(s.fakes[0], []row{{s.fakes[0], "stranger", 0, lastSlot, 9}})
			for range 3 {
				require.Error(t, client.Sync(within(t, 10*time.Second)))
			}
			require.Equal(t, before, client.Primary(lastSlot))
		})
	}
}

// TestMovedToNoAddress: where MOVED names a node without an address, the map is fetched, and
// the command goes again by it.
func TestMovedToNoAddress(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"?:6379", "127.0.0.1:0"} {
		for _, redirect := range []string{"MOVED", "ASK"} {
			t.Run(redirect+" "+at, func(t *testing.T) {
				t.Parallel()
				s := newScripted(t, 0)
				for i := range 2 {
					f := newFake(t)
					f.id = id(i)
					f.slots = func() string { slots, _ := s.replies(f); return slots }
					f.nodes = func() string { _, nodes := s.replies(f); return nodes }
					f.answer = say(":1\r\n")
					s.fakes = append(s.fakes, f)
				}
				s.all(s.parts("node"))
				s.fakes[0].answer = func(w io.Writer, cmd []string) bool {
					s.all([]row{{s.fakes[1], id(1), 0, 16383, 7}})
					_, err := fmt.Fprintf(w, "-%s %d %s\r\n", redirect, cluster.Slot(cmd[1]), at)
					return err == nil
				}
				for _, f := range s.fakes {
					f.start()
				}
				client := s.open(t, cluster.Config{})
				require.Equal(t, 1, owner(t, within(t, 10*time.Second), client, 0))
			})
		}
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
		require.ErrorContains(t, err, "Config.AddrMap returned for farther:6379 what cannot be dialled", "%q", unknown)
	}
}
