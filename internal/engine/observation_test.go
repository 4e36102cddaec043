package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/source"
	"github.com/redislanes/redislanes/redistest"
)

// A topologyChange is what Trace.TopologyChanged is told.
type topologyChange struct {
	joined, left []string
	moved        int
}

// A listener remembers the requests and groups that it is told of, which its contexts
// lead to.
type listener struct {
	mu      sync.Mutex
	traced  []*tracedRequest
	changes []topologyChange
}

type tracedRequest struct {
	start   redislanes.RequestStart
	command string
	info    *redislanes.RequestInfo
	groups  []*tracedGroup
}

type tracedGroup struct {
	addr    string
	start   redislanes.GroupStart
	command string
	info    *redislanes.GroupInfo
}

type (
	requestKey struct{}
	groupKey   struct{}
)

func (w *listener) trace() *redislanes.Trace {
	return &redislanes.Trace{
		BeginRequest: w.beginRequest, EndRequest: w.endRequest, BeginGroup: w.beginGroup, EndGroup: w.endGroup,
		TopologyChanged: func(joined, left []string, moved int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changes = append(w.changes, topologyChange{joined, left, moved})
		},
	}
}

func (w *listener) beginRequest(ctx context.Context, s redislanes.RequestStart) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &tracedRequest{start: s, command: fmt.Sprint(s.Command)}
	w.traced = append(w.traced, r)
	return context.WithValue(ctx, requestKey{}, r)
}

func (w *listener) endRequest(ctx context.Context, s redislanes.RequestStart, i redislanes.RequestInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := ctx.Value(requestKey{}).(*tracedRequest)
	if r.info != nil || r.start != s {
		panic("a request that ends twice, or another one")
	}
	r.info = &i
}

// last returns the request that began last, once it has ended.
func (w *listener) last(t *testing.T) tracedRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NotEmpty(t, w.traced)
	r := *w.traced[len(w.traced)-1]
	require.NotNil(t, r.info, "it has ended")
	for _, g := range r.groups {
		require.NotNil(t, g.info, "its groups have ended")
	}
	return r
}

func (w *listener) beginGroup(ctx context.Context, s redislanes.GroupStart) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := &tracedGroup{addr: s.Pool.Addr, start: s, command: fmt.Sprint(s.Command)}
	r := ctx.Value(requestKey{}).(*tracedRequest)
	r.groups = append(r.groups, g)
	return context.WithValue(ctx, groupKey{}, g)
}

func (w *listener) endGroup(ctx context.Context, s redislanes.GroupStart, i redislanes.GroupInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := ctx.Value(groupKey{}).(*tracedGroup)
	if g.info != nil || g.start != s || ctx.Value(requestKey{}).(*tracedRequest).info != nil {
		panic("a group that ends twice, another one, or one of a request that has ended")
	}
	g.info = &i
}

func tracedClient(t *testing.T, addrs []string, c Config) (*Client, *listener) {
	w := new(listener)
	c.Trace = w.trace()
	return open(t, c, addrs), w
}

// hits returns a request that counts each key.
func hits(keys []string) *Request {
	r := new(Request)
	for _, key := range keys {
		r.Commit(resp.AppendCommand(r.Buffer(), "incrby", key, "1"), int32(slots.Of(key)))
	}
	return r
}

// TestGroupsAreTold: they add up to the request, whichever way it is sent.
func TestGroupsAreTold(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	keys := redistest.KeysInSlots(12, "groups")
	for name, how := range map[string]How{"at once": {}, "sequential": {Sequential: true}} {
		t.Run(name, func(t *testing.T) {
			client, w := tracedClient(t, e.Addrs(), Config{RefreshEvery: -1})
			r := hits(keys)
			require.NoError(t, client.Exec(servers.Within(t, 10*time.Second), r, how))
			got := w.last(t)
			require.Equal(t, "INCRBY", got.command)
			require.Equal(t, redislanes.RequestInfo{Took: got.info.Took, Commands: 12, Trips: 3, Outcome: "ok"}, *got.info)
			require.Len(t, got.groups, 3)
			commands := 0
			for _, g := range got.groups {
				require.Equal(t, "INCRBY", g.command)
				require.Equal(t, 1, g.start.Attempt)
				require.Equal(t, 3, g.start.Groups)
				require.Positive(t, g.info.Took)
				require.LessOrEqual(t, g.info.Took, got.info.Took)
				require.Equal(t, redislanes.GroupInfo{Took: g.info.Took, Outcome: "ok"}, *g.info)
				commands += g.start.Commands
			}
			require.Equal(t, 12, commands)
		})
	}
}

// TestRedirectedGroupsAreTold: a second attempt, and why.
func TestRedirectedGroupsAreTold(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 2)
	client, w := tracedClient(t, e.Addrs(), Config{RefreshEvery: -1})
	key := redistest.KeysInSlots(1, "moved")[0]
	from := e.Owner(slots.Of(key))
	e.Move(slots.Of(key), 1-from)
	ctx := servers.Within(t, 10*time.Second)
	require.NoError(t, client.Exec(ctx, hits([]string{key}), How{}))
	got := w.last(t)
	require.Equal(t, 1, got.info.Redirects)
	require.Zero(t, got.info.Retries)
	require.Zero(t, got.info.Failed)
	require.Empty(t, got.info.Addr, "two nodes had a part in it")
	require.Len(t, got.groups, 2)
	require.Equal(t, "MOVED", got.groups[0].info.Code)
	require.Equal(t, "error", got.groups[0].info.Outcome)
	require.Equal(t, 1, got.groups[1].start.Redirected)
	require.Equal(t, 2, got.groups[1].start.Attempt)
	require.Equal(t, e.Addrs()[1-from], got.groups[1].addr)

	left := 2
	e.Inject(1-from, func(cmd string, _ []string) string {
		if cmd == "INCRBY" && left > 0 {
			left--
			return "TRYAGAIN not yet"
		}
		return ""
	})
	require.NoError(t, client.Exec(ctx, hits([]string{key}), How{}))
	got = w.last(t)
	require.Equal(t, 2, got.info.Retries)
	require.Equal(t, e.Addrs()[1-from], got.info.Addr)
	require.Len(t, got.groups, 3)
	require.Equal(t, 1, got.groups[2].start.Retried)
}

// TestSilentNodeIsTold: the group that got no answer lasts as long as its call, and
// the others as long as they lasted.
func TestSilentNodeIsTold(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 2)
	ways := redistest.StartProxies(t, e.Addrs())
	client, w := tracedClient(t, e.Addrs(), Config{RefreshEvery: -1, RetryWindow: -1, Source: source.Cluster{Nodes: source.Nodes{AddrMap: ways.AddrMap}}})
	keys := redistest.KeysInSlots(8, "silent")
	ctx := servers.Within(t, 10*time.Second)
	require.NoError(t, client.Exec(ctx, hits(keys), How{}))
	silent := ways[e.Addrs()[0]]
	silent.Stall(redistest.ToClient)
	const deadline = time.Second // by then the other node has answered
	short, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	require.NoError(t, client.Exec(short, hits(keys), How{}))
	got := w.last(t)
	require.Equal(t, "unknown", got.info.Outcome)
	require.ErrorIs(t, got.info.Err, redislanes.ErrUnknownOutcome)
	require.Len(t, got.groups, 2)
	slices.SortFunc(got.groups, func(a, b *tracedGroup) int { return cmp.Compare(a.info.Outcome, b.info.Outcome) })
	require.Equal(t, "ok", got.groups[0].info.Outcome)
	require.Equal(t, silent.Addr(), got.groups[1].addr)
	require.Less(t, got.groups[0].info.Took, got.groups[1].info.Took)
}

// TestDedicatedAreTold: with their redirects.
func TestDedicatedAreTold(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 2)
	client, w := tracedClient(t, e.Addrs(), Config{RefreshEvery: -1, RetryWindow: -1})
	key := redistest.KeysInSlots(1, "mine")[0]
	ctx := servers.Within(t, 10*time.Second)
	require.NoError(t, client.do(ctx, "RPUSH", key, "1"))
	require.NoError(t, client.do(ctx, "BLPOP", key, "1"))
	got := w.last(t)
	require.Equal(t, "BLPOP", got.command)
	require.True(t, got.start.Dedicated)
	require.Equal(t, redislanes.RequestInfo{Took: got.info.Took, Commands: 1, Trips: 1, Addr: e.Addrs()[e.Owner(slots.Of(key))], Outcome: "ok"}, *got.info)
	require.Empty(t, got.groups, "shared connections have groups")

	require.NoError(t, client.WithConn(ctx, int32(slots.Of(key)), How{}, func(*nodepool.Dedicated) error { return nil }))
	got = w.last(t)
	require.Empty(t, got.command, "it may send several")
	require.Equal(t, redislanes.RequestStart{Dedicated: true, Command: got.start.Command}, got.start)
	require.Empty(t, got.groups)

	from := e.Owner(slots.Of(key))
	e.Move(slots.Of(key), 1-from)
	_, err := e.Nodes()[1-from].Push(key, "1")
	require.NoError(t, err)
	require.NoError(t, client.do(ctx, "BLPOP", key, "1"))
	got = w.last(t)
	require.Equal(t, 1, got.info.Redirects)
	require.Equal(t, 2, got.info.Trips)

	e.Inject(1-from, func(cmd string, _ []string) string {
		if cmd == "BLPOP" {
			return "OOM no more"
		}
		return ""
	})
	require.Error(t, client.do(ctx, "BLPOP", key, "1"))
	got = w.last(t)
	require.Equal(t, "error", got.info.Outcome)
	require.Equal(t, "OOM", got.info.Code)
}

// TestNodesRequestsAreTold: what the program sends to one node is a request, with the
// commands that failed.
func TestNodesRequestsAreTold(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 1)
	client, w := tracedClient(t, e.Addrs(), Config{RefreshEvery: -1})
	ctx := servers.Within(t, 10*time.Second)
	primaries, _, err := client.Places()
	require.NoError(t, err)
	at := func(ctx context.Context, own bool, commands ...[]string) error {
		var r Request
		var ends []int
		buf := r.Buffer()
		for _, c := range commands {
			buf = resp.AppendCommand(buf, c[0], c[1:]...)
			ends = append(ends, len(buf))
		}
		how := How{At: primaries[0]}
		require.NoError(t, client.AppendTogether(&r, buf, ends, slots.NoKey, own, how))
		require.NoError(t, client.Exec(ctx, &r, how))
		_, refused, err := r.Join(nil)
		require.Negative(t, refused)
		return err
	}
	require.NoError(t, at(ctx, false, []string{"SET", "a", "text"}))
	got := w.last(t)
	require.Equal(t, "SET", got.command)
	require.Equal(t, redislanes.RequestStart{Commands: 1, Command: got.start.Command}, got.start)
	require.Equal(t, redislanes.RequestInfo{Took: got.info.Took, Commands: 1, Trips: 1, Addr: e.Addrs()[0], Outcome: "ok"}, *got.info)
	require.Positive(t, got.info.Took)

	require.NoError(t, at(ctx, false, []string{"INCR", "a"}, []string{"GET", "b"}))
	got = w.last(t)
	require.Empty(t, got.command)
	require.Equal(t, redislanes.RequestInfo{
		Took: got.info.Took, Commands: 2, Failed: 1, Trips: 1, Addr: e.Addrs()[0], Outcome: "error", Code: "ERR",
	}, *got.info)

	require.NoError(t, at(ctx, true, []string{"BLPOP", "a", "1"}))
	got = w.last(t)
	require.True(t, got.start.Dedicated)
	require.Equal(t, 1, got.info.Failed)
	require.Equal(t, "WRONGTYPE", got.info.Code)

	require.NoError(t, at(ctx, true, []string{"MULTI"}, []string{"SET", "a", "1"}, []string{"EXEC"}))
	got = w.last(t)
	require.Equal(t, redislanes.RequestStart{Commands: 3, Dedicated: true, Command: got.start.Command}, got.start)
	require.Equal(t, redislanes.RequestInfo{Took: got.info.Took, Commands: 3, Trips: 1, Outcome: "ok", Addr: e.Addrs()[0]}, *got.info)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.Error(t, at(ended, false, []string{"INCR", "b"}))
	got = w.last(t)
	require.Equal(t, "not_sent", got.info.Outcome)
	require.Equal(t, 1, got.info.Failed)
	require.ErrorIs(t, got.info.Err, redislanes.ErrNotSent)
}

// TestNamesOfCommands: no argument is taken for a name.
func TestNamesOfCommands(t *testing.T) {
	t.Parallel()
	name := func(commands ...[]string) string {
		var r Request
		for _, c := range commands {
			r.Commit(resp.AppendCommand(r.Buffer(), c[0], c[1:]...), slots.NoKey)
		}
		return requestName{&r}.String()
	}
	require.Equal(t, "GET", name([]string{"get", "a"}, []string{"GET", "b"}))
	require.Empty(t, name([]string{"GET", "a"}, []string{"SET", "a", "b"}, []string{"GET", "a"}))
	require.Equal(t, "FT.SEARCH", name([]string{"ft.search", "a"}))
	require.Empty(t, name([]string{"user:77:password", "a"}))
	require.Empty(t, name())
}
