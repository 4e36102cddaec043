package nodepool

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
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

// TestBusyServerIsUsedSoon: a server that answers each dial with BUSY or LOADING is used within
// 100 ms once it has finished, however long it took.
func TestBusyServerIsUsedSoon(t *testing.T) {
	texts := []string{"BUSY Redis is busy running a script.", "LOADING Redis is loading the dataset in memory"}
	for _, text := range slices.Repeat(texts, 5) { // pauses have a random part
		synctest.Test(t, func(t *testing.T) {
			var finished atomic.Bool
			dial := func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go func() {
					defer theirs.Close()
					for in := bufio.NewReader(theirs); ; {
						for range 3 { // the lines of PING
							if _, err := in.ReadString('\n'); err != nil {
								return
							}
						}
						reply := "-" + text + "\r\n"
						if finished.Load() {
							reply = "+PONG\r\n"
						}
						_, _ = io.WriteString(theirs, reply)
					}
				}()
				return ours, nil
			}
			p, err := New(Laned{Lanes: 1}, lanes.Dialer{NetDial: dial, NoSetInfo: true}, "simulated:1", nil)
			require.NoError(t, err)
			defer p.Close()
			require.Error(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
			time.Sleep(30 * time.Second)
			finished.Store(true)
			time.Sleep(101 * time.Millisecond)
			require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")), text)
		})
	}
}
