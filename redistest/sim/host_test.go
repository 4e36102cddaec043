package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHostFaults: a fault between one host and one node leaves other hosts and other nodes alone, and ends.
func TestHostFaults(t *testing.T) {
	const timeout = "i/o timeout"
	for name, c := range map[string]struct {
		fault         func(h *Host, n *Node)
		named, others string // what the node that is named replies, and another one
		ran, late     string // the counter at the named node meanwhile, and when all is healed
	}{
		"none":            {func(*Host, *Node) {}, ":1", ":1", "1", ""},
		"isolated":        {func(h *Host, n *Node) { h.Isolate(n) }, timeout, ":1", "", ":1"},
		"isolated wholly": {func(h *Host, _ *Node) { h.Isolate() }, timeout, timeout, "", ":1"},
		"requests":        {func(h *Host, n *Node) { h.HoldRequests(n) }, timeout, ":1", "", ":1"},
		"replies":         {func(h *Host, n *Node) { h.HoldReplies(n) }, timeout, ":1", "1", ":1"},
		"frozen":          {func(h *Host, _ *Node) { h.Freeze() }, timeout, timeout, "", ":1"},
		"delayed":         {func(h *Host, n *Node) { h.Delay(time.Second, n) }, timeout, ":1", "", ":1"},
		"cut":             {func(h *Host, n *Node) { h.Cut(n) }, "reset", ":1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(t *testing.T, redis *Cluster) {
				h, n, other := redis.Host("limiter-1"), redis.Owner(here), redis.Owner(there)
				require.Same(t, h, redis.Host("limiter-1"))
				p, q := dial(t, h, n.Addr()), dial(t, h, other.Addr())
				c.fault(h, n)
				require.Contains(t, p.say("INCR "+here), c.named)
				value, _ := redis.Value(here)
				require.Equal(t, c.ran, value)
				require.Contains(t, q.say("INCR "+there), c.others)
				require.Contains(t, dial(t, redis.Host("limiter-2"), n.Addr()).say("INCR other{"+here+"}"), ":1", "another host")
				n.Heal()
				redis.Heal()
				if c.late != "" {
					require.NoError(t, p.SetDeadline(time.Now().Add(2*time.Second)))
					require.Equal(t, c.late, p.next())
				}
				require.Regexp(t, `^:\d`, dial(t, h, n.Addr()).say("INCR "+here), "healed")
			})
		})
	}
}
