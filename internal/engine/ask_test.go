package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/lanes"
)

// TestFailedAddrMapWithholds: a Sentinel or server for whose addresses AddrMap fails has
// answered, and may tell its map the next time: another cluster does not take its place.
func TestFailedAddrMapWithholds(t *testing.T) {
	for _, fails := range []string{"primary:1", "replica:1", "sentinel:1"} {
		q := asker{cfg: Config{Sentinel: &lanes.Dialer{}, AddrMap: func(addr string) string {
			if addr == fails {
				panic("no such host")
			}
			return addr
		}}}
		err := q.translateInstances(t.Context(), &slots.SentinelReply{
			Primary:  slots.Instance{Addr: "primary:1"},
			Replicas: []slots.Instance{{Addr: "replica:1"}}, Sentinels: []slots.Instance{{Addr: "sentinel:1"}},
		})
		require.ErrorContains(t, err, "Config.AddrMap panicked: no such host", fails)
		require.True(t, withholds(err), fails)
	}
}

// A waited context counts the calls of Done.
type waited struct {
	context.Context
	by atomic.Int32
}

func (w *waited) Done() <-chan struct{} {
	w.by.Add(1)
	return w.Context.Done()
}

// TestRedirectsHaveNoChildContext: AddrMap is asked for the address of a redirect without a child of
// the call's context. A goroutine of the child reads that context after the call, when package
// deadline uses it for another call.
func TestRedirectsHaveNoChildContext(t *testing.T) {
	c := newClient(Config{AddrMap: strings.ToUpper}, nil)
	defer c.cancel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := &waited{Context: ctx}
	require.Equal(t, "A:1", c.dialAddr(call, slots.Redirect{Addr: "a:1"}))
	require.EqualValues(t, 1, call.by.Load(), "only the call itself")
}

// mapServer replies to CLUSTER SLOTS, the first command with arguments that it is sent.
type mapServer struct{ reply []byte }

func (s mapServer) dial(context.Context, string, string) (net.Conn, error) {
	ours, its := net.Pipe()
	go func() {
		defer its.Close()
		buf := make([]byte, 4096)
		for {
			n, err := its.Read(buf)
			if err != nil {
				return
			}
			for sent := range strings.Lines(string(buf[:n])) {
				switch strings.TrimSpace(sent) {
				case "PING", "READWRITE", "SETINFO", "MYID", "NODES":
					_, err = io.WriteString(its, "-ERR unknown command\r\n")
				case "SLOTS":
					_, err = its.Write(s.reply)
				}
				if err != nil {
					return
				}
			}
		}
	}()
	return ours, nil
}

// fragmented returns a map with a range for each slot, each with as many nodes. Their host
// names are almost as long as may be. Each is there twice: as the address, and as a hostname in the
// metadata.
func fragmented(nodes int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", slots.Count)
	for slot := range slots.Count {
		fmt.Fprintf(&b, "*%d\r\n:%d\r\n:%d\r\n", 2+nodes, slot, slot)
		for n := range nodes {
			host := fmt.Sprintf("node-%d-%d.%s", slot, n, strings.Repeat("long.", 47))
			fmt.Fprintf(&b, "*4\r\n$%d\r\n%s\r\n:6379\r\n$40\r\n%040d\r\n*2\r\n$8\r\nhostname\r\n$%d\r\n%s\r\n", len(host), host, slot, len(host), host)
		}
	}
	return b.Bytes()
}

// TestLargeMaps: the map of a cluster whose nodes own many ranges is read. One beyond the limit
// is refused, with what to do.
func TestLargeMaps(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 18 MiB")
	}
	large := fragmented(2)
	require.Greater(t, len(large), 17<<20)
	synctest.Test(t, func(t *testing.T) {
		q := asker{cfg: Config{Dialer: lanes.Dialer{NetDial: mapServer{large}.dial, NoSetInfo: true}}}
		a := q.question(t.Context(), "a:1", false)
		require.NoError(t, a.err)
		q.cfg.Dialer.Limits.Reply = 1 << 20
		a = q.question(t.Context(), "a:1", false)
		require.ErrorIs(t, a.err, resp.ErrLimit)
		require.ErrorContains(t, a.err, "a reply of more than 1048576 bytes, the limit")
		require.ErrorContains(t, a.err, "raise Dialer.Limits")
	})
}
