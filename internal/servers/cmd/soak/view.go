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
	epoch int64
	// primary is each node's primary, itself for a primary, -1 for a node that
	// is not listed.
	primary []int
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
	primary := make([]int, len(ids))
	for i := range primary {
		primary[i] = -1
	}
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		const id, flags, primaryID, enough = 0, 2, 3, 4
		if len(fields) < enough {
			continue
		}
		i := slices.Index(ids, fields[id])
		if i < 0 {
			continue
		}
		if strings.Contains(fields[flags], "master") {
			primary[i] = i
		} else {
			primary[i] = slices.Index(ids, fields[primaryID])
		}
	}
	return primary
}

// fit returns the nodes that the fault can be done to.
func (v view) fit(f fault) []int {
	var fit []int
	for i, primary := range v.primary {
		isPrimary := primary == i
		ok := isPrimary || !f.primary
		switch f.kind {
		case failover, force, takeover:
			ok = !isPrimary && primary >= 0
		case kill, hangUp, standalone:
			ok = isPrimary && v.hasReplica(i)
		case reshard, throttle, shardLost:
			ok = isPrimary
		}
		if ok {
			fit = append(fit, i)
		}
	}
	return fit
}

func (v view) hasReplica(node int) bool {
	for i, primary := range v.primary {
		if primary == node && i != node {
			return true
		}
	}
	return false
}

// unexpected compares the views before and after a fault that causes no
// failover but that of the node, if it is a graceful one. It says what has
// happened besides, "" if nothing has. An election, even one without a winner,
// raises the epoch, and so does each slot that is moved.
func unexpected(before, after view, f fault, node int) string {
	rise := int64(0)
	succeeded := -1 // the primary that the node has succeeded
	switch f.kind {
	case reshard:
		rise = int64(len(f.slots))
	case failover:
		rise, succeeded = 1, before.primary[node]
	}
	for i := range before.primary {
		was, is := before.primary[i] == i, after.primary[i] == i
		if f.kind == failover && (i == node || i == succeeded) {
			was = i == node
		}
		if was != is {
			return fmt.Sprintf("node %d is a primary: %t, want %t", i, is, was)
		}
	}
	if got := after.epoch - before.epoch; got > rise {
		return fmt.Sprintf("the epoch rose by %d, want %d at most", got, rise)
	}
	return ""
}

// values reads the keys from the primaries, without the client under test.
func values(ctx context.Context, nodes []*servers.Node, keys []string) ([]int64, error) {
	found := make([]int64, len(keys))
	owners := make([]int, len(keys))
	for _, n := range nodes {
		if err := valuesOf(ctx, n, keys, found, owners); err != nil {
			return nil, err
		}
	}
	for i, owners := range owners {
		if owners != 1 {
			return nil, fmt.Errorf("key %s is served by %d nodes, want 1", keys[i], owners)
		}
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
