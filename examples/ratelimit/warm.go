package main

import (
	"context"
	"sync"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
)

// warm sends a PING to each node. One that does not answer is not the end: the
// service is not ready until it does, and its limits fail open or closed.
func (p *program) warm(ctx context.Context, client *cluster.Client) error {
	nodes, err := client.Clients()
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for addr, node := range nodes {
		all.Go(func() {
			if err := node.Primary.Do(ctx, radix.Cmd(nil, "PING")); err != nil {
				p.log.Warn("a node of Redis does not answer", "node", addr, "error", err)
			}
		})
	}
	all.Wait()
	return nil
}
