package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
)

const slotCount = 16384

// form makes the processes a cluster: slots, introductions, replicas.
func (c *Cluster) form(ctx context.Context) error {
	primaries, first := c.options.Primaries, 0
	for i, n := range c.nodes {
		if err := n.Do(ctx, &n.id, "CLUSTER", "MYID"); err != nil {
			return err
		}
		if err := n.Do(ctx, nil, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			// A node of another cluster introduces itself at a port that was its friend's.
			if strings.Contains(err.Error(), "does not know any other node") {
				return fmt.Errorf("%w: %w", errPort, err)
			}
			return err
		}
		if i < primaries && c.options.Slots[i] > 0 {
			if err := n.addSlots(ctx, first, first+c.options.Slots[i]); err != nil {
				return err
			}
			first += c.options.Slots[i]
		}
	}
	for _, n := range c.nodes {
		for _, other := range c.nodes {
			if n == other {
				continue
			}
			if err := n.Do(ctx, nil, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.Port()), strconv.Itoa(other.ports.bus)); err != nil {
				return err
			}
		}
	}
	for i, n := range c.nodes[primaries:] {
		primary := c.nodes[i%primaries]
		err := poll(ctx, n.Addr()+" knows its primary", func() (bool, error) {
			return n.Do(ctx, nil, "CLUSTER", "REPLICATE", primary.id) == nil, nil
		})
		if err != nil {
			return err
		}
	}
	if err := c.WaitHealthy(ctx); err != nil {
		return err
	}
	with := 0 // slots, or a primary that has some
	for i := range c.nodes {
		if c.options.Slots[i%primaries] > 0 {
			with++
		}
	}
	return poll(ctx, "CLUSTER SLOTS lists all nodes", func() (bool, error) {
		for _, n := range c.nodes {
			if listed := n.listed(ctx); listed != with {
				return false, nil
			}
		}
		return true, nil
	})
}

// listed returns how many nodes the node's CLUSTER SLOTS lists. A replica is
// only listed some time after it has had something from its primary.
func (n *Node) listed(ctx context.Context) (nodes int) {
	var ranges [][]any
	if n.Do(ctx, &ranges, "CLUSTER", "SLOTS") != nil {
		return 0
	}
	const bounds = 2
	for _, r := range ranges {
		nodes += len(r) - bounds
	}
	return nodes
}

// addSlots gives the node the slots from first up to, but not including, end.
func (n *Node) addSlots(ctx context.Context, first, end int) error {
	args := []string{"ADDSLOTS"}
	for slot := first; slot < end; slot++ {
		args = append(args, strconv.Itoa(slot))
	}
	return n.Do(ctx, nil, "CLUSTER", args...)
}

// WaitHealthy waits until every node that runs says that the cluster is ok and
// that all slots are covered, all agree about the owners and their config
// epochs, and replicas are in step with their primaries.
func (c *Cluster) WaitHealthy(ctx context.Context) error {
	err := poll(ctx, "the cluster is healthy", func() (bool, error) {
		var views []string
		for _, n := range c.nodes {
			if !n.serving() {
				continue
			}
			view, ok := n.view(ctx)
			if !ok || !c.allRun(view.owners) {
				return false, nil
			}
			views = append(views, fmt.Sprint(view))
		}
		return len(slices.Compact(views)) <= 1, nil
	})
	if err != nil {
		err = fmt.Errorf("%w%s", err, c.views())
	}
	return err
}

// views returns what each node says of the cluster, for an error.
func (c *Cluster) views() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var b strings.Builder
	for _, n := range c.nodes {
		var info, nodes string
		if err := errors.Join(n.Do(ctx, &info, "CLUSTER", "INFO"), n.Do(ctx, &nodes, "CLUSTER", "NODES")); err != nil {
			nodes = err.Error()
		}
		state, _, _ := strings.Cut(info, "\r\ncluster_slots_pfail")
		fmt.Fprintf(&b, "\n%s: %s\n%s", n.Addr(), strings.ReplaceAll(state, "\r\n", ", "), nodes)
	}
	return b.String()
}

// allRun reports whether the nodes with these IDs are running.
func (c *Cluster) allRun(ids []string) bool {
	for _, n := range c.nodes {
		if slices.Contains(ids, n.id) && !n.serving() {
			return false
		}
	}
	return true
}

// serving reports whether the node runs as a member of its cluster.
func (n *Node) serving() bool {
	n.mu.Lock()
	alone := n.alone
	n.mu.Unlock()
	return !alone && n.running()
}

func (n *Node) running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// A view is what a node thinks of its cluster.
type view struct {
	owners   []string // IDs of the nodes with slots
	slots    []string // of each owner, in the same order
	epochs   []string // config epochs, in the same order
	replicas int
}

// view returns the node's view, and whether the node is healthy itself.
func (n *Node) view(ctx context.Context) (v view, ok bool) {
	var info, replication, nodes string
	p := radix.NewPipeline()
	p.Append(radix.Cmd(&info, "CLUSTER", "INFO"))
	p.Append(radix.Cmd(&replication, "INFO", "replication"))
	p.Append(radix.Cmd(&nodes, "CLUSTER", "NODES"))
	if n.pipeline(ctx, "what it thinks of the cluster", p) != nil {
		return v, false
	}
	if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_slots_ok:16384") ||
		strings.Contains(replication, "master_link_status:down") {
		return v, false
	}
	lines := slices.Sorted(strings.Lines(nodes)) // they begin with the ID
	for _, line := range lines {
		fields := strings.Fields(line)
		const id, flags, epoch, slots = 0, 2, 6, 8
		if len(fields) < slots || strings.Contains(fields[flags], "handshake") {
			return v, false
		}
		if strings.Contains(fields[flags], "slave") {
			v.replicas++
		}
		onTheirWay := func(slot string) bool { return strings.HasPrefix(slot, "[") } // only their own nodes tell
		if served := slices.DeleteFunc(fields[slots:], onTheirWay); len(served) > 0 {
			v.owners = append(v.owners, fields[id])
			v.slots = append(v.slots, strings.Join(served, ","))
			if slices.Contains(v.epochs, fields[epoch]) {
				return v, false // a collision, until one of the two takes the next epoch
			}
			v.epochs = append(v.epochs, fields[epoch])
		}
	}
	return v, true
}

// IsPrimary reports whether the node says that it is a primary now.
func (n *Node) IsPrimary(ctx context.Context) (bool, error) {
	var info string
	if err := n.Do(ctx, &info, "INFO", "replication"); err != nil {
		return false, err
	}
	return strings.Contains(info, "role:master"), nil
}

// Failover makes the node, a replica, its primary's successor, by CLUSTER
// FAILOVER with the mode "", "FORCE" or "TAKEOVER", and waits until it is a
// primary.
func (n *Node) Failover(ctx context.Context, mode string) error {
	args := []string{"FAILOVER"}
	if mode != "" {
		args = append(args, mode)
	}
	if err := n.Do(ctx, nil, "CLUSTER", args...); err != nil {
		return err
	}
	return poll(ctx, n.Addr()+" is a primary", func() (bool, error) { return n.IsPrimary(ctx) })
}
