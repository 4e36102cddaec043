package main

import (
	"context"
	"errors"

	"github.com/redislanes/redislanes/bench/internal/child"
)

// nullServers are servers in a process of their own. Its task is how many, its answer where they are.
var nullServers = child.NewRole("servers without work", func(primaries int) ([]string, error) {
	c, err := startNull(primaries)
	if err != nil {
		return nil, err
	}
	return c.addrs(), nil
})

// withServers calls f with the addresses of servers in a process of their own.
func withServers(ctx context.Context, primaries int, f func(addrs []string) error) error {
	process, addrs, err := nullServers.Start(ctx, primaries)
	if err != nil {
		return err
	}
	return errors.Join(f(addrs), process.Close())
}
