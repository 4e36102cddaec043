package nodepool

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// TestRefusalsThatPass: a server that refuses the handshake for now is dialled again as
// one that cannot be reached, and one that refuses it for good slowly.
func TestRefusalsThatPass(t *testing.T) {
	for text, quick := range map[string]bool{
		"BUSY Redis is busy running a script.":                    true,
		"ERR max number of clients + cluster connections reached": true,
		"upstream failure": true,
		"WRONGPASS invalid username-password pair or user is disabled.": false,
		"NOAUTH Authentication required.":                               false,
	} {
		synctest.Test(t, func(t *testing.T) {
			var dials atomic.Int32
			dial := func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				ours, theirs := net.Pipe()
				go func() {
					defer theirs.Close()
					_, _ = bufio.NewReader(theirs).ReadString('\n')
					_, _ = io.WriteString(theirs, "-"+text+"\r\n")
				}()
				return ours, nil
			}
			p, err := New(Laned{Lanes: 1}, lanes.Dialer{NetDial: dial, NoSetInfo: true}, "simulated:1", nil)
			require.NoError(t, err)
			defer p.Close()
			var refused *redislanes.HandshakeError
			require.ErrorAs(t, p.Do(t.Context(), radix.Cmd(nil, "PING")), &refused)
			time.Sleep(400 * time.Millisecond)
			require.Equal(t, quick, dials.Load() > 2, "%s: %d dials", text, dials.Load())
		})
	}
}
