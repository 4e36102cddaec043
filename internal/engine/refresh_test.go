package engine

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// slotsReply is a reply to CLUSTER SLOTS with claims "host first-last id".
func slotsReply(t testing.TB, claims ...string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(claims))
	for _, c := range claims {
		var host, id string
		var first, last int
		_, err := fmt.Sscanf(c, "%s %d-%d %s", &host, &first, &last, &id)
		require.NoError(t, err, c)
		fmt.Fprintf(&b, "*3\r\n:%d\r\n:%d\r\n*3\r\n$%d\r\n%s\r\n:1\r\n$%d\r\n%s\r\n", first, last, len(host), host, len(id), id)
	}
	return b.String()
}

// TestCloseBelievesNothing: the end of the client cuts a refresh short in which one node has
// given a map that is doubtful, and the others have not answered yet.
func TestCloseBelievesNothing(t *testing.T) {
	t.Parallel()
	for name, doubtful := range map[string]string{
		"slots are lost":  slotsReply(t, "a 0-5460 a1"),
		"another cluster": slotsReply(t, "x 0-16383 x1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const late = 10 * time.Second
				a, others := &piped{slots: slotsReply(t, "a 0-5460 a1", "b 5461-10922 b1", "c 10923-16383 c1")}, &piped{answersAfter: late}
				dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
					if addr == "a:1" {
						return a.dial(ctx, network, addr)
					}
					return others.dial(ctx, network, addr)
				}
				client, err := Config{RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: dial, Timeout: 2 * late}}.New(t.Context(), []string{"a:1"})
				require.NoError(t, err)
				a.mu.Lock()
				a.slots = doubtful
				a.mu.Unlock()
				before := client.topology.Load()
				client.hint()
				time.Sleep(2 * time.Second)
				assert.Len(t, a.times(), 2, "it has been asked")
				require.NoError(t, client.Close())
				assert.Same(t, before, client.topology.Load())
				time.Sleep(late) // the bubble must be empty at its end
			})
		})
	}
}
