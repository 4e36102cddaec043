package engine

import (
	"context"
	"math/rand/v2"
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

// TestRealCluster holds the pure parts against the servers of a real cluster.
func TestRealCluster(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	conn, err := radix.Dial(ctx, "tcp", servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()[0])
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	t.Run("slots", func(t *testing.T) { realSlots(t, ctx, conn) })
	t.Run("sanitize", func(t *testing.T) { realSanitize(t, ctx, conn) })
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
