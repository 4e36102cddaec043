package engine

import (
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/slots"
)

// raw sends a command and returns the reply as it came.
func raw(t *testing.T, ctx context.Context, conn radix.Conn, line string) []byte {
	t.Helper()
	name, args := split(line)
	var reply resp3.RawMessage
	require.NoError(t, conn.Do(ctx, radix.Cmd(&reply, name, args...)), line)
	return reply
}

// errorOf returns the text of an error reply.
func errorOf(t *testing.T, reply []byte) []byte {
	t.Helper()
	require.Equal(t, "-", string(reply[:1]), "%q is no error", reply)
	return reply[1 : len(reply)-2]
}

func dialAll(t *testing.T, ctx context.Context, addrs []string) map[string]radix.Conn {
	t.Helper()
	conns := map[string]radix.Conn{}
	for _, addr := range addrs {
		conn, err := radix.Dial(ctx, "tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		conns[addr] = conn
	}
	return conns
}

// slotOwner returns the address of the primary of a slot by CLUSTER SLOTS.
func slotOwner(t *testing.T, ctx context.Context, conn radix.Conn, asked string, slot uint16) slots.NodeAddr {
	t.Helper()
	ranges, _, err := slots.ParseSlots(raw(t, ctx, conn, "CLUSTER SLOTS"), asked)
	require.NoError(t, err)
	for _, r := range ranges {
		if r.First <= slot && slot <= r.Last {
			require.NotEmpty(t, r.Nodes)
			return r.Nodes[0]
		}
	}
	t.Fatalf("slot %d has no owner in %v", slot, ranges)
	return slots.NodeAddr{}
}

// TestRealCluster holds the pure parts against the servers of a real cluster.
// Its parts run one after another, because they change settings.
func TestRealCluster(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	addrs := real.Addrs()
	conns := dialAll(t, ctx, addrs)
	t.Run("told", func(t *testing.T) { realSlots(t, ctx, conns[addrs[0]]) })
	t.Run("MOVED", func(t *testing.T) { realMoved(t, ctx, addrs, conns) })
	t.Run("ASK", func(t *testing.T) { realAsk(t, ctx, addrs, conns) })
	t.Run("endpoints", func(t *testing.T) { realEndpoints(t, ctx, real, conns[addrs[0]]) })
	t.Run("sanitize", func(t *testing.T) { realSanitize(t, ctx, conns[addrs[0]]) })
}

// realSlots asks the server for the slots of keys full of braces.
func realSlots(t *testing.T, ctx context.Context, conn radix.Conn) {
	rnd := rand.New(rand.NewPCG(7, 8))
	const total, perTrip = 100_000, 1000
	keys, told := make([]string, perTrip), make([]int, perTrip)
	for range total / perTrip {
		trip := radix.NewPipeline()
		for i := range keys {
			keys[i] = string(randomKey(rnd, rnd.IntN(40)))
			trip.Append(radix.Cmd(&told[i], "CLUSTER", "KEYSLOT", keys[i]))
		}
		require.NoError(t, conn.Do(ctx, trip))
		for i, key := range keys {
			if int(slots.Of(key)) != told[i] {
				t.Fatalf("Slot(%q) = %d, the server says %d", key, slots.Of(key), told[i])
			}
		}
	}
}

func realMoved(t *testing.T, ctx context.Context, addrs []string, conns map[string]radix.Conn) {
	for _, key := range []string{"foo", "bar", "a", "b", "c"} {
		owner := slotOwner(t, ctx, conns[addrs[0]], addrs[0], slots.Of(key)).Addr
		require.Contains(t, addrs, owner)
		for _, addr := range addrs {
			reply := raw(t, ctx, conns[addr], "SET "+key+" 1")
			if addr == owner {
				assert.Equal(t, "+OK\r\n", string(reply))
				continue
			}
			assert.Equal(t, slots.Redirect{Fate: fate.Moved, Slot: slots.Of(key), Addr: owner}, slots.ParseRedirect(errorOf(t, reply), addr))
		}
	}
	reply := errorOf(t, raw(t, ctx, conns[addrs[0]], "MGET foo bar"))
	assert.Contains(t, string(reply), "CROSSSLOT")
	assert.Equal(t, slots.Redirect{Fate: fate.Final}, slots.ParseRedirect(reply, addrs[0]))
	reply = errorOf(t, raw(t, ctx, conns[addrs[0]], "EVALSHA x 0"))
	assert.Equal(t, slots.Redirect{Fate: fate.NoScript}, slots.ParseRedirect(reply, addrs[0]))
}

// realAsk marks a slot as on its way from one node to another, whereupon the
// first one answers ASK for keys that it does not have.
func realAsk(t *testing.T, ctx context.Context, addrs []string, conns map[string]radix.Conn) {
	const key, slotText = "foo", "12182"
	from := slotOwner(t, ctx, conns[addrs[0]], addrs[0], slots.Of(key))
	to := slotOwner(t, ctx, conns[addrs[0]], addrs[0], (slots.Of(key)+slots.Count/2)%slots.Count)
	require.NotEqual(t, from, to)
	raw(t, ctx, conns[to.Addr], "CLUSTER SETSLOT "+slotText+" IMPORTING "+from.ID)
	raw(t, ctx, conns[from.Addr], "CLUSTER SETSLOT "+slotText+" MIGRATING "+to.ID)
	defer func() {
		raw(t, ctx, conns[to.Addr], "CLUSTER SETSLOT "+slotText+" STABLE")
		raw(t, ctx, conns[from.Addr], "CLUSTER SETSLOT "+slotText+" STABLE")
	}()
	reply := errorOf(t, raw(t, ctx, conns[from.Addr], "GET {foo}absent"))
	assert.Equal(t, slots.Redirect{Fate: fate.Ask, Slot: slots.Of(key), Addr: to.Addr}, slots.ParseRedirect(reply, from.Addr))
	raw(t, ctx, conns[from.Addr], "SET foo 1")
	const some = "MGET foo {foo}absent"
	reply = errorOf(t, raw(t, ctx, conns[from.Addr], some))
	if slots.ParseRedirect(reply, from.Addr).Fate == fate.Ask { // by servers before Redis 7, and the target says the rest
		raw(t, ctx, conns[to.Addr], "ASKING")
		reply = errorOf(t, raw(t, ctx, conns[to.Addr], some))
	}
	assert.Equal(t, slots.Redirect{Fate: fate.TryAgain}, slots.ParseRedirect(reply, from.Addr))
}

// realEndpoints: every way in which a server announces itself, in RESP2 and
// RESP3.
func realEndpoints(t *testing.T, ctx context.Context, real *servers.Cluster, conn radix.Conn) {
	node := real.Nodes()[0]
	_, port, err := net.SplitHostPort(node.Addr())
	require.NoError(t, err)
	myID := raw(t, ctx, conn, "CLUSTER MYID")
	for _, test := range []struct{ endpoint, name, ip, want string }{
		{"ip", "h.example", "10.1.2.3", "10.1.2.3:"},
		{"ip", "", "fd00::7", "[fd00::7]:"},
		{"hostname", "h.example", "10.1.2.3", "h.example:"},
		{"hostname", "", "10.1.2.3", "10.1.2.3:"},
		{"unknown-endpoint", "", "10.1.2.3", "asked:"},
		{"unknown-endpoint", "h.example", "10.1.2.3", "asked:"},
		{"ip", "", "127.0.0.1", "127.0.0.1:"},
	} {
		require.NoError(t, node.Configure(ctx, "cluster-announce-ip", test.ip))
		if real.Major() >= 7 {
			require.NoError(t, node.Configure(ctx, "cluster-preferred-endpoint-type", test.endpoint, "cluster-announce-hostname", test.name))
		} else if test.endpoint != "ip" {
			continue
		}
		for _, version := range []string{"3", "2"} {
			raw(t, ctx, conn, "HELLO "+version)
			announced := toldAddr(t, ctx, conn, string(myID))
			for real.Major() < 7 && announced != test.want+port && ctx.Err() == nil {
				announced = toldAddr(t, ctx, conn, string(myID)) // it takes notice ten times a second
			}
			assert.Equal(t, test.want+port, announced, "%+v", test)
		}
	}
}

// toldAddr returns the address by which the server tells of the node with the ID.
func toldAddr(t *testing.T, ctx context.Context, conn radix.Conn, id string) string {
	t.Helper()
	ranges, _, err := slots.ParseSlots(raw(t, ctx, conn, "CLUSTER SLOTS"), "asked:1")
	require.NoError(t, err)
	for _, r := range ranges {
		require.NotEmpty(t, r.Nodes)
		if strings.Contains(id, r.Nodes[0].ID) {
			return r.Nodes[0].Addr
		}
	}
	t.Fatalf("%s is in no range of %v", id, ranges)
	return ""
}

// realSanitize provokes errors whose texts quote arguments.
func realSanitize(t *testing.T, ctx context.Context, conn radix.Conn) {
	for _, line := range []string{
		"NOCOMMAND canary canary", "no'canary canary", "CLIENT canary", "CLIENT it'canary", "OBJECT canary canary",
		"DEBUG canary", "CLIENT KILL TYPE canary", "HELLO 3 canary", "CONFIG SET canary canary", "CONFIG SET maxmemory canary",
		"ACL SETUSER bob canary", "ACL SETUSER bob >canary canary", "ACL LOG canary", "CLUSTER MEET canary 99999",
		"CLUSTER FORGET canary", "CLUSTER SETSLOT 1 NODE canary", "CLUSTER REPLICATE canary", "CLUSTER REPLICAS canary",
		"LATENCY GRAPH canary", "MODULE LOAD canary", "FUNCTION LOAD canary", "FUNCTION DELETE canary",
		"SCRIPT LOAD canary'canary", "EVAL canary(canary 0", "EVAL redis.call('canary') 0", "FCALL canary 0",
		"AUTH canary canary", "SELECT canary", "CLUSTER KEYSLOT canary canary", "XGROUP canary canary",
	} {
		reply := raw(t, ctx, conn, line)
		text := fate.Printed(string(errorOf(t, reply)))
		assert.NotContains(t, text, "canary", line)
		assert.Greater(t, len(text), len("ERR "), line)
	}
}

// randomKey returns n bytes among which braces are frequent.
func randomKey(rnd *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		switch c := rnd.Uint32(); c % 8 {
		case 0:
			b[i] = '{'
		case 1:
			b[i] = '}'
		default:
			b[i] = byte(c >> 8)
		}
	}
	return b
}
