package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/servers"
)

// A view is what the nodes of a healthy cluster agree about.
type view struct {
	epoch   int64
	primary []int // each node's primary; a primary's is the node itself; -1 for a node that is not listed
}

func look(ctx context.Context, nodes []*servers.Node) (view, error) {
	var v view
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.ID()
		var info string
		if err := n.Do(ctx, &info, "CLUSTER", "INFO"); err != nil {
			return v, err
		}
		v.epoch = max(v.epoch, currentEpoch(info))
	}
	var listed string
	if err := nodes[0].Do(ctx, &listed, "CLUSTER", "NODES"); err != nil {
		return v, err
	}
	v.primary = primaries(listed, ids)
	return v, nil
}

// currentEpoch finds the epoch in the reply to CLUSTER INFO, 0 without one.
func currentEpoch(info string) int64 {
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "cluster_current_epoch:"); ok {
			n, _ := strconv.ParseInt(text, 10, 64)
			return n
		}
	}
	return 0
}

// primaries finds the primary of each node in the reply to CLUSTER NODES.
func primaries(listed string, ids []string) []int {
	primary := slices.Repeat([]int{-1}, len(ids))
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		const id, flags, primaryID, enough = 0, 2, 3, 4
		if len(fields) < enough {
			continue
		}
		of := fields[primaryID]
		if strings.Contains(fields[flags], "master") {
			of = fields[id]
		}
		if i := slices.Index(ids, fields[id]); i >= 0 {
			primary[i] = slices.Index(ids, of)
		}
	}
	return primary
}

// fit returns the nodes that the fault can be done to.
func (v view) fit(k kind) []int {
	var fit []int
	for i, primary := range v.primary {
		isPrimary := primary == i
		ok := isPrimary
		switch k {
		case failover, takeover:
			ok = !isPrimary && primary >= 0
		case kill, standalone:
			ok = isPrimary && v.replicas(i) > 0
		}
		if ok {
			fit = append(fit, i)
		}
	}
	return fit
}

func (v view) replicas(node int) (n int) {
	for i, primary := range v.primary {
		if primary == node && i != node {
			n++
		}
	}
	return n
}

// mostEpochs is by how much a fault may raise the epoch. Each slot that moves raises it by one, and so does
// an election. More means an election that nobody asked for.
func mostEpochs(f fault) int64 {
	switch f.kind {
	case reshard:
		return int64(f.slots)
	case failover:
		return 1
	}
	return 0
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
