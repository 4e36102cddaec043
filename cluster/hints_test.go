package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
)

// shards is a reply to CLUSTER SLOTS: each shard is a primary and its replicas, and has as
// many slots as the others. The ID of a node is its address.
func shards(all ...[]string) string {
	reply := fmt.Sprintf("*%d\r\n", len(all))
	for i, shard := range all {
		reply += fmt.Sprintf("*%d\r\n:%d\r\n:%d\r\n", 2+len(shard), i*cluster.SlotCount/len(all), (i+1)*cluster.SlotCount/len(all)-1)
		for _, addr := range shard {
			host, port, _ := net.SplitHostPort(addr)
			reply += "*3\r\n" + bulk(host) + ":" + port + "\r\n" + bulk(addr)
		}
	}
	return reply
}

// A sidePath is one call. If it fails, the client must ask for a new map.
type sidePath struct {
	answer func(cmd []string) string // of node B, as it is about to leave; nil: it is dead
	call   func(ctx context.Context, client *cluster.Client) error
	says   bool // the call fails; else the program has swallowed it, or another node has answered
}

var (
	keyB     = keyOf(0, 2)
	incrB    = cmd("INCR", keyB)
	swallows = func(conn func(ctx context.Context, c radix.Conn) error) action {
		return dedicated(keyB, func(ctx context.Context, c radix.Conn) error {
			_ = conn(ctx, c)
			return nil
		})
	}
	incrOn = func(ctx context.Context, c radix.Conn) error { return c.Do(ctx, incrB()) }
)

// An action makes a radix.Action, which is for one use.
type action func() radix.Action

func cmd(name string, args ...string) action {
	return func() radix.Action { return radix.Cmd(nil, name, args...) }
}

// raw takes an error reply for a value.
func raw(name string, args ...string) action {
	return func() radix.Action { return radix.Cmd(new(resp3.RawMessage), name, args...) }
}

func dedicated(key string, use func(ctx context.Context, c radix.Conn) error) action {
	return func() radix.Action { return radix.WithConn(key, use) }
}

// onB performs the action with the client of node B.
func onB(made action) func(context.Context, *cluster.Client) error {
	return func(ctx context.Context, client *cluster.Client) error {
		sets, err := client.Clients()
		if err != nil {
			return err
		}
		return sets[nodeB].Primary.Do(ctx, made())
	}
}

func onReplicaB(made action) func(context.Context, *cluster.Client) error {
	return func(ctx context.Context, client *cluster.Client) error {
		sets, err := client.Clients()
		for _, set := range sets {
			for _, replica := range set.Secondaries {
				err = errors.Join(err, replica.Do(ctx, made()))
			}
		}
		return err
	}
}

func does(made action) func(context.Context, *cluster.Client) error {
	return func(ctx context.Context, client *cluster.Client) error { return client.Do(ctx, made()) }
}

func replies(text string) func([]string) string { return func([]string) string { return text } }

// hangsUp reads a command and ends the connection: the outcome is unknown.
const hangsUp = "-"

var movedB = fmt.Sprintf("-MOVED %d %s\r\n", cluster.Slot(keyB), nodeA)

var sidePaths = map[string]sidePath{
	"ForEachPrimary": {nil, func(ctx context.Context, client *cluster.Client) error {
		return client.ForEachPrimary(ctx, func(ctx context.Context, node radix.Client) error { return node.Do(ctx, cmd("PING")()) })
	}, true},
	"a replica":                           {nil, onReplicaB(cmd("PING")), true},
	"Clients":                             {nil, onB(cmd("PING")), true},
	"Clients, MOVED":                      {replies(movedB), onB(incrB), true},
	"Clients, MOVED as a value":           {replies(movedB), onB(raw("INCR", keyB)), true},
	"Clients, READONLY":                   {replies("-READONLY You can't write against a read only replica.\r\n"), onB(incrB), true},
	"Clients, CLUSTERDOWN":                {replies("-CLUSTERDOWN The cluster is down\r\n"), onB(incrB), true},
	"Clients, unknown":                    {replies(hangsUp), onB(incrB), true},
	"Clients, deadline":                   {replies(""), onB(incrB), true},
	"Clients, dedicated":                  {nil, onB(dedicated("", incrOn)), true},
	"Clients, dedicated, swallowed":       {replies(hangsUp), onB(swallows(incrOn)), false},
	"Clients, dedicated, MOVED swallowed": {replies(movedB), onB(swallows(incrOn)), false},
	"Clients, blocking":                   {nil, onB(cmd("BLPOP", keyB, "1")), true},
	"Clients, blocking, MOVED a value":    {replies(movedB), onB(raw("BLPOP", keyB, "1")), true},
	"Do":                                  {nil, does(incrB), true},
	"Do, unknown":                         {replies(hangsUp), does(incrB), true},
	"Do, deadline":                        {replies(""), does(incrB), true},
	"Do, dedicated":                       {nil, does(dedicated(keyB, incrOn)), true},
	"Do, dedicated, unknown":              {replies(hangsUp), does(dedicated(keyB, incrOn)), true},
	"Do, dedicated, swallowed":            {replies(hangsUp), does(swallows(incrOn)), false},
	"Do, dedicated, READONLY swallowed":   {replies("-READONLY You can't write against a read only replica.\r\n"), does(swallows(incrOn)), false},
	"Do, blocking, unknown":               {replies(hangsUp), does(cmd("BLPOP", keyB, "1")), true},
	"Dial, dead": {nil, func(ctx context.Context, client *cluster.Client) error {
		_, err := client.Dial(ctx, nodeB)
		return err
	}, true},
	"pipeline, unknown": {replies(hangsUp), func(ctx context.Context, client *cluster.Client) error {
		p := pipeline.New(client)
		p.IncrBy(keyB, 1)
		return p.Do(ctx)
	}, true},
	"Counters": {nil, func(ctx context.Context, client *cluster.Client) error {
		counters := pipeline.CountersConfig{}.New(client)
		defer counters.Close()
		hits := []pipeline.Hit{{Key: keyB, By: 1, TTL: time.Minute}}
		_ = counters.Hit(ctx, hits)
		return hits[0].Err
	}, true},
}

// TestEachFailureAsksForAMap: node B leaves the cluster, and nothing but one call that fails
// on some path tells the client.
func TestEachFailureAsksForAMap(t *testing.T) {
	t.Parallel()
	for name, path := range sidePaths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, client := watched(t, func(cmd []string) string { return path.answer(cmd) })
				w.set(func() {
					w.dead[nodeB] = path.answer == nil
					w.slots = shards([]string{nodeA, nodeC})
				})
				synctest.Wait()
				err := path.call(soon(t, time.Second/2), client)
				require.Equal(t, path.says, err != nil, "%v", err)
				time.Sleep(700 * time.Millisecond) // the spacing of refreshes
				require.Equal(t, nodeA, client.Primary(0), "the new map is in use")
			})
		})
	}
}

// watched returns a world of two shards and a client that fetches the map only if it is asked
// to. The function answers for node B.
func watched(t *testing.T, answer func(cmd []string) string) (*world, *cluster.Client) {
	t.Helper()
	w := newWorld(nil)
	w.slots = shards([]string{nodeB, nodeA}, []string{nodeA, nodeB})
	w.answer = func(addr string, cmd []string) string {
		if addr != nodeB {
			return one
		}
		if reply := answer(cmd); reply != hangsUp {
			return reply
		}
		w.set(func() { w.dead[nodeB] = true })
		return one
	}
	config := cluster.Config{RefreshEvery: -1, RetryWindow: -1, Dialer: lanes.Dialer{NetDial: w.dial}}
	client, err := config.New(t.Context(), []string{nodeA, nodeB})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return w, client
}

// TestWhatAsksForNoMap: what says nothing of the cluster costs no refresh.
func TestWhatAsksForNoMap(t *testing.T) {
	t.Parallel()
	wrongType := replies("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n")
	canceled := func(call func(context.Context, *cluster.Client) error) func(context.Context, *cluster.Client) error {
		return func(ctx context.Context, client *cluster.Client) error {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not needed"))
			time.AfterFunc(time.Second/10, cancel)
			return call(ctx, client)
		}
	}
	for name, path := range map[string]sidePath{
		"an error about the command":          {wrongType, does(incrB), true},
		"the same of a node":                  {wrongType, onB(incrB), true},
		"the same, dedicated":                 {wrongType, does(dedicated(keyB, incrOn)), true},
		"a reply that does not fit":           {replies("+text\r\n"), onB(func() radix.Action { return radix.Cmd(new(int), "INCR", keyB) }), true},
		"a caller that leaves":                {replies(""), canceled(onB(incrB)), true},
		"a caller that leaves Do":             {replies(""), canceled(does(incrB)), true},
		"a command that needs its connection": {replies(one), onB(cmd("SUBSCRIBE", "news")), true},
		"the program's own error":             {replies(one), does(dedicated(keyB, func(context.Context, radix.Conn) error { return errors.New("own") })), true},
		"the program's own error, of a node":  {replies(one), onB(dedicated("", func(context.Context, radix.Conn) error { return errors.New("own") })), true},
		"success":                             {replies(one), onB(incrB), false},
		"success of a dedicated connection":   {replies(one), does(dedicated(keyB, incrOn)), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, client := watched(t, path.answer)
				before := client.Stats().Refreshes
				err := path.call(soon(t, time.Second/2), client)
				require.Equal(t, path.says, err != nil, "%v", err)
				time.Sleep(time.Second)
				require.Equal(t, before, client.Stats().Refreshes)
			})
		})
	}
}

// TestDeadlineIsAHint: a call that ran into its deadline makes the client fetch
// the map, which may know why; one that was cancelled does not.
func TestDeadlineIsAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(string, []string) string { return "" }, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		synctest.Wait()
		before := client.Stats().Refreshes
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, "INCR", "k")), redislanes.ErrUnknownOutcome)
		time.Sleep(time.Second)
		require.Equal(t, before, client.Stats().Refreshes)
		require.ErrorIs(t, client.Do(soon(t, 50*time.Millisecond), radix.Cmd(nil, "INCR", "k")), redislanes.ErrUnknownOutcome)
		time.Sleep(time.Second)
		require.Equal(t, before+1, client.Stats().Refreshes)
	})
}
