package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
)

// ForEachPrimary is that of package cluster.
func (c *Client) ForEachPrimary(ctx context.Context, f func(ctx context.Context, node radix.Client) error) error {
	return c.forEach(ctx, "ForEachPrimary", f, func(set radix.ReplicaSet) []radix.Client { return []radix.Client{set.Primary} })
}

// ForEachReplica is that of package cluster.
func (c *Client) ForEachReplica(ctx context.Context, f func(ctx context.Context, node radix.Client) error) error {
	return c.forEach(ctx, "ForEachReplica", f, func(set radix.ReplicaSet) []radix.Client { return set.Secondaries })
}

func (c *Client) forEach(ctx context.Context, name string, f func(context.Context, radix.Client) error, of func(radix.ReplicaSet) []radix.Client) error {
	if f == nil {
		return fmt.Errorf("redislanes: %s: the function is nil: %w", name, redislanes.ErrNotSent)
	}
	sets, err := c.Clients()
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards failed
	var failed []error
	var calls sync.WaitGroup
	for _, set := range sets {
		for _, node := range of(set) {
			calls.Go(func() {
				if err := call(ctx, name, node, f); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, withNode(err, node.Addr().String()))
				}
			})
		}
	}
	calls.Wait()
	return errors.Join(failed...)
}

func call(ctx context.Context, name string, node radix.Client, f func(context.Context, radix.Client) error) (err error) {
	defer guard.Catch("the function of "+name, &err)
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
