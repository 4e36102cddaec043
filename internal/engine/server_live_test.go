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
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
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
func slotOwner(t *testing.T, ctx context.Context, conn radix.Conn, asked string, slot uint16) nodeAddr {
	t.Helper()
	ranges, _, err := parseSlots(raw(t, ctx, conn, "CLUSTER SLOTS"), asked)
	require.NoError(t, err)
	for _, r := range ranges {
		if r.first <= slot && slot <= r.last {
			require.NotEmpty(t, r.nodes)
			return r.nodes[0]
		}
	}
	t.Fatalf("slot %d has no owner in %v", slot, ranges)
	return nodeAddr{}
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
	t.Run("slots", func(t *testing.T) { realSlots(t, ctx, conns[addrs[0]]) })
	t.Run("MOVED", func(t *testing.T) { realMoved(t, ctx, addrs, conns) })
	t.Run("ASK", func(t *testing.T) { realAsk(t, ctx, addrs, conns) })
	t.Run("endpoints", func(t *testing.T) { realEndpoints(t, ctx, real, conns[addrs[0]]) })
	t.Run("sanitize", func(t *testing.T) { realSanitize(t, ctx, conns[addrs[0]]) })
}

// realSlots asks the server for the slots of keys full of braces.
func realSlots(t *testing.T, ctx context.Context, conn radix.Conn) {
	rnd := rand.New(rand.NewPCG(7, 8))
	const total, perTrip = 100_000, 1000
	keys, slots := make([]string, perTrip), make([]int, perTrip)
	for range total / perTrip {
		trip := radix.NewPipeline()
		for i := range keys {
			keys[i] = string(randomBytes(rnd, rnd.IntN(40)))
			trip.Append(radix.Cmd(&slots[i], "CLUSTER", "KEYSLOT", keys[i]))
		}
		require.NoError(t, conn.Do(ctx, trip))
		for i, key := range keys {
			if int(Slot(key)) != slots[i] {
				t.Fatalf("Slot(%q) = %d, the server says %d", key, Slot(key), slots[i])
			}
		}
	}
}

func realMoved(t *testing.T, ctx context.Context, addrs []string, conns map[string]radix.Conn) {
	for _, key := range []string{"foo", "bar", "a", "b", "c"} {
		owner := slotOwner(t, ctx, conns[addrs[0]], addrs[0], Slot(key)).addr
		require.Contains(t, addrs, owner)
		for _, addr := range addrs {
			reply := raw(t, ctx, conns[addr], "SET "+key+" 1")
			if addr == owner {
				assert.Equal(t, "+OK\r\n", string(reply))
				continue
			}
			assert.Equal(t, redirect{fate.Moved, Slot(key), owner, false}, classify(errorOf(t, reply), addr))
		}
	}
	reply := errorOf(t, raw(t, ctx, conns[addrs[0]], "MGET foo bar"))
	assert.Contains(t, string(reply), "CROSSSLOT")
	assert.Equal(t, redirect{fate: fate.Final}, classify(reply, addrs[0]))
	reply = errorOf(t, raw(t, ctx, conns[addrs[0]], "EVALSHA x 0"))
	assert.Equal(t, redirect{fate: fate.NoScript}, classify(reply, addrs[0]))
}

// realAsk marks a slot as on its way from one node to another, whereupon the
// first one answers ASK for keys that it does not have.
func realAsk(t *testing.T, ctx context.Context, addrs []string, conns map[string]radix.Conn) {
	const key, slotText = "foo", "12182"
	from := slotOwner(t, ctx, conns[addrs[0]], addrs[0], Slot(key))
	to := slotOwner(t, ctx, conns[addrs[0]], addrs[0], (Slot(key)+SlotCount/2)%SlotCount)
	require.NotEqual(t, from, to)
	raw(t, ctx, conns[to.addr], "CLUSTER SETSLOT "+slotText+" IMPORTING "+from.id)
	raw(t, ctx, conns[from.addr], "CLUSTER SETSLOT "+slotText+" MIGRATING "+to.id)
	defer func() {
		raw(t, ctx, conns[to.addr], "CLUSTER SETSLOT "+slotText+" STABLE")
		raw(t, ctx, conns[from.addr], "CLUSTER SETSLOT "+slotText+" STABLE")
	}()
	reply := errorOf(t, raw(t, ctx, conns[from.addr], "GET {foo}absent"))
	assert.Equal(t, redirect{fate.Ask, Slot(key), to.addr, false}, classify(reply, from.addr))
	raw(t, ctx, conns[from.addr], "SET foo 1")
	const some = "MGET foo {foo}absent"
	reply = errorOf(t, raw(t, ctx, conns[from.addr], some))
	if classify(reply, from.addr).fate == fate.Ask { // by servers before Redis 7, and the target says the rest
		raw(t, ctx, conns[to.addr], "ASKING")
		reply = errorOf(t, raw(t, ctx, conns[to.addr], some))
	}
	assert.Equal(t, redirect{fate: fate.TryAgain}, classify(reply, from.addr))
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
	ranges, _, err := parseSlots(raw(t, ctx, conn, "CLUSTER SLOTS"), "asked:1")
	require.NoError(t, err)
	for _, r := range ranges {
		require.NotEmpty(t, r.nodes)
		if strings.Contains(id, r.nodes[0].id) {
			return r.nodes[0].addr
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
		text := resp.Redact(string(errorOf(t, reply)))
		assert.NotContains(t, text, "canary", line)
		assert.Greater(t, len(text), len("ERR x"), line)
	}
}
