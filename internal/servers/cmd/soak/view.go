package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/servers"
)

// A view is each node's primary; a primary's is the node itself.
type view []int

func look(ctx context.Context, nodes []*servers.Node) (view, error) {
	v := make(view, len(nodes))
	for i, n := range nodes {
		var role []any
		if err := n.Do(ctx, &role, "ROLE"); err != nil {
			return nil, err
		}
		v[i] = primaryOf(i, role, nodes)
	}
	return v, nil
}

// primaryOf finds the node's primary in its reply to ROLE; -1 if it is none of the nodes.
func primaryOf(node int, role []any, nodes []*servers.Node) int {
	if fmt.Sprintf("%s", role[0]) == "master" {
		return node
	}
	return slices.IndexFunc(nodes, func(n *servers.Node) bool { return n.Addr() == fmt.Sprintf("%s:%d", role[1], role[2]) })
}

// fit returns the nodes that the fault can be done to.
func (v view) fit(k kind) []int {
	var fit []int
	for i, primary := range v {
		isPrimary := primary == i
		ok := isPrimary
		switch k {
		case failover:
			ok = !isPrimary && primary >= 0
		case kill:
			ok = isPrimary && v.replicas(i) > 0
		}
		if ok {
			fit = append(fit, i)
		}
	}
	return fit
}

func (v view) replicas(node int) (n int) {
	for i, primary := range v {
		if primary == node && i != node {
			n++
		}
	}
	return n
}

// values reads the keys from the primaries, without the client under test.
func values(ctx context.Context, nodes []*servers.Node, keys []string) ([]int64, error) {
	found, owners := make([]int64, len(keys)), make([]int, len(keys))
	for _, n := range nodes {
		if err := valuesOf(ctx, n, keys, found, owners); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(owners, func(n int) bool { return n != 1 }); i >= 0 {
		return nil, fmt.Errorf("key %s is served by %d nodes, want 1", keys[i], owners[i])
	}
	return found, nil
}

// valuesOf adds the values of the keys that the node serves.
func valuesOf(ctx context.Context, n *servers.Node, keys []string, found []int64, owners []int) error {
	conn, err := radix.Dial(ctx, "tcp", n.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	for i, key := range keys {
		var value int64
		err := conn.Do(ctx, radix.Cmd(&radix.Maybe{Rcv: &value}, "GET", key))
		var said resp3.SimpleError
		switch {
		case errors.As(err, &said) && strings.HasPrefix(said.S, "MOVED "):
			continue
		case err != nil:
			return fmt.Errorf("GET %s of %s: %w", key, n.Addr(), err)
		}
		found[i] += value
		owners[i]++
	}
	return nil
}
