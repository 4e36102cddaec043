package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

// A nodeClient is a node as Client.Clients hands it out.
type nodeClient struct {
	engine *engine.Client
	at     engine.Place
}

var _ radix.Client = nodeClient{}

// Addr is part of radix.Client.
func (n nodeClient) Addr() net.Addr { return wire.NetAddr(n.at.Addr()) }

// Do performs the action on the node.
func (n nodeClient) Do(ctx context.Context, action radix.Action) error {
	return perform(ctx, n.engine, action, engine.How{At: n.at})
}

// Close does nothing: the connections belong to the Client.
func (n nodeClient) Close() error { return nil }

// Clients returns a client for each node, by the primary's address; part of
// radix.MultiClient. They do not follow redirects, nor retry anything, and closing them does
// nothing. They refuse what [Client.Do] refuses. A failure on one of them asks for a new
// map of the slots, so a later call of Clients leaves out nodes that have left.
func (c *Client) Clients() (map[string]radix.ReplicaSet, error) {
	primaries, replicas, err := c.engine().Places()
	if err != nil {
		return nil, err
	}
	sets := make(map[string]radix.ReplicaSet, len(primaries))
	for i, at := range primaries {
		set := radix.ReplicaSet{Primary: nodeClient{c.engine(), at}}
		for _, replica := range replicas[i] {
			set.Secondaries = append(set.Secondaries, nodeClient{c.engine(), replica})
		}
		sets[at.Addr()] = set
	}
	return sets, nil
}

// ForEachPrimary calls f for each primary of the map in use, all at once, and returns when
// all calls have returned. It is for commands that are not about keys, such as SCRIPT LOAD,
// DBSIZE, FLUSHALL and CONFIG SET. The error joins those of f, each with the address of its
// node. Replicas are in [Client.Clients]. The node that f gets does not follow redirects, nor retry anything, and closing it does
// nothing. f must be safe for concurrent use. A panic in it becomes an error.
//
// A node that joins meanwhile is missed. Call [Client.Sync] first to have the newest map.
func (c *Client) ForEachPrimary(ctx context.Context, f func(ctx context.Context, node radix.Client) error) error {
	if f == nil {
		return fmt.Errorf("redislanes: ForEachPrimary: the function is nil: %w", redislanes.ErrNotSent)
	}
	sets, err := c.Clients()
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards failed
	var failed []error
	var calls sync.WaitGroup
	for _, set := range sets {
		calls.Go(func() {
			if err := call(ctx, set.Primary, f); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, withNode(err, set.Primary.Addr().String()))
			}
		})
	}
	calls.Wait()
	return errors.Join(failed...)
}

func call(ctx context.Context, node radix.Client, f func(context.Context, radix.Client) error) (err error) {
	defer guard.Catch("the function of ForEachPrimary", &err)
	return f(ctx, node)
}

// withNode names the node in an error of a user's function, unless the error does.
func withNode(err error, addr string) error {
	var named *redislanes.Error
	if errors.As(err, &named) && named.Addr == addr {
		return err
	}
	return fmt.Errorf("%s: %w", addr, err)
}
