package counter_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	redislanes "github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit/internal/counter"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// A faulty rig has a proxy before its server, which is emulated.
type faulty struct {
	*rig
	proxy  *redistest.Proxy
	inject atomic.Pointer[func(command string) string]
}

func startFaulty(t *testing.T) *faulty {
	t.Helper()
	f := new(faulty)
	server := redistest.StartEmulated(t, 1)
	f.proxy = redistest.StartProxy(t, server.Addrs()[0])
	server.Inject(0, func(cmd string, args []string) string {
		if reply := f.inject.Load(); reply != nil {
			return (*reply)(cmd + " " + strings.Join(args, " "))
		}
		return ""
	})
	client, err := cluster.Config{RetryWindow: -1, Dialer: lanes.Dialer{NetDial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, f.proxy.Addr())
	}}}.New(t.Context(), server.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	f.rig = &rig{t: t, client: client}
	return f
}

// answer has the server answer the commands that begin with a text.
func (f *faulty) answer(begin, with string) {
	reply := func(command string) string {
		if strings.HasPrefix(command, begin) {
			return with + "\r\n"
		}
		return ""
	}
	f.inject.Store(&reply)
}

// TestIncrexGoes: a failover to a replica that has no INCREX fails no take.
func TestIncrexGoes(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	for _, with := range []string{"-ERR unknown command 'INCREX', with args beginning with: ", "-NOPERM User x has no permissions to run the 'increx' command", "-ERR syntax error", "-unsupported command"} {
		var s counter.Server
		f.cmd("DEL", "k", "{k}before")
		f.answer("INCREX", "*2\r\n:0\r\n:0") // denied
		first := fixed("k", 5, 100)
		f.take(&s, &first)
		require.NoError(t, first.Err)
		require.False(t, first.Applied)
		f.answer("INCREX", with)
		for i, take := range []counter.Take{fixed("k", 2, 100), known(sliding("k", 2, 100), 5, 0), fixed("k", -1, 100)} {
			before := f.get("k")
			f.take(&s, &take)
			require.NoError(t, take.Err, i)
			require.True(t, take.Applied, i)
			require.Equal(t, before+take.N, f.get("k"), i)
		}
	}
}

// TestIncrexFails: a take is granted only by INCREX's own reply.
func TestIncrexFails(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	for _, with := range []string{"-OOM command not allowed when used memory > 'maxmemory'.", "+OK", ":5", "*1\r\n:1", "$1\r\n1", "-WRONGTYPE Operation against a key holding the wrong kind of value"} {
		var s counter.Server
		f.answer("INCREX", with)
		take := fixed("k", 5, 100)
		f.take(&s, &take)
		require.Error(t, take.Err, with)
		require.False(t, take.Applied, with)
	}
}

// TestSilentIncrex: a proxy that does not reply to INCREX fails the first takes, and no later one.
func TestSilentIncrex(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	var s counter.Server
	f.cmd("DEL", "k")
	f.proxy.Stall(redistest.ToClient)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		take, p := fixed("k", 5, 100), pipeline.New(f.client)
		s.Append(p, &take)
		_ = p.Do(ctx)
		cancel()
		require.False(t, s.Read(&take))
		require.ErrorIs(t, take.Err, redislanes.ErrUnknownOutcome)
	}
	f.proxy.Flow(redistest.ToClient)
	f.answer("INCREX", "+OK")
	f.cmd("DEL", "k")
	take := fixed("k", 5, 100)
	f.take(&s, &take)
	require.NoError(t, take.Err)
	require.True(t, take.Applied)
}

// TestNotGivenBack: hits that do not fit and cannot be given back are denied, and stay counted.
func TestNotGivenBack(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	f.cmd("SET", "k", 99, "EX", 100)
	s := f.without()
	f.answer("EVAL", "-OOM command not allowed when used memory > 'maxmemory'.")
	take := known(fixed("k", 2, 100), 1, 0)
	for range 2 {
		f.take(s, &take)
		require.NoError(t, take.Err)
		require.False(t, take.Applied)
		require.EqualValues(t, 101, take.Used)
		f.inject.Store(nil)
	}
}

// without returns a Server that has found no INCREX.
func (f *faulty) without() *counter.Server {
	var s counter.Server
	f.answer("INCREX", "-ERR unknown command 'INCREX'")
	first := fixed("first", 1, 1)
	f.take(&s, &first)
	return &s
}

// TestEnd: after an unknown outcome, and after an EXPIRE that failed, the next take gives the key an end.
func TestEnd(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	s := f.without()
	f.answer("EXPIRE", "-OOM command not allowed when used memory > 'maxmemory'.")
	take := known(fixed("k", 2, 100), 50, 0)
	f.take(s, &take) // the key was lost
	require.NoError(t, take.Err)
	require.True(t, take.Applied)
	require.False(t, take.Known)
	require.EqualValues(t, -1, f.ttl("k"))
	f.inject.Store(nil)
	f.take(s, &take)
	require.True(t, take.Applied)
	require.True(t, take.Known)
	require.Positive(t, f.ttl("k"))
}

// TestEndAfterACut: the reply that says that the key was lost does not come. The next take gives it an end.
func TestEndAfterACut(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	s := f.without()
	take := known(fixed("k", 2, 100), 50, 0)
	for take.Err == nil { // the reply that is cut may be one about the map of the slots
		f.cmd("DEL", "k")
		take = known(fixed("k", 2, 100), 50, 0)
		cut := f.proxy.CutAfter(redistest.ToClient, 0)
		f.take(s, &take)
		<-cut
	}
	require.ErrorIs(t, take.Err, redislanes.ErrUnknownOutcome)
	require.False(t, take.Applied)
	require.False(t, take.Known)
	require.EqualValues(t, -1, f.ttl("k"))
	f.take(s, &take)
	require.NoError(t, take.Err)
	require.EqualValues(t, 4, take.Used)
	require.Positive(t, f.ttl("k"))
}

// TestNotSent: a client that is closed.
func TestNotSent(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	other, err := cluster.Config{}.New(t.Context(), []string{f.proxy.Addr()})
	require.NoError(t, err)
	require.NoError(t, other.Close())
	var s counter.Server
	take := known(fixed("k", 2, 100), 50, 0)
	closed := &rig{t: t, client: other}
	closed.take(&s, &take)
	require.ErrorIs(t, take.Err, redislanes.ErrNotSent)
	require.True(t, take.Known)
}
