package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/lanes"
)

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
				case "PING", "SETINFO", "MYID", "NODES", "ROLE":
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

// TestLargeMaps: a map with many ranges is read. One beyond the limit is refused, with an
// error that says what to do.
func TestLargeMaps(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 18 MiB")
	}
	large := fragmented(2)
	require.Greater(t, len(large), 17<<20)
	synctest.Test(t, func(t *testing.T) {
		c := Cluster{Nodes{Dialer: lanes.Dialer{NetDial: mapServer{large}.dial, NoSetInfo: true}}}
		_, err := c.Ask(t.Context(), "a:1", nil, nil)
		require.NoError(t, err)
		c.Dialer.MaxReply = 1 << 20
		_, err = c.Ask(t.Context(), "a:1", nil, nil)
		require.ErrorIs(t, err, resp.ErrLimit)
		require.ErrorContains(t, err, "the limit")
		require.ErrorContains(t, err, "raise Dialer.MaxReply")
	})
}
