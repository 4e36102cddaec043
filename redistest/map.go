package redistest

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/mediocregopher/radix/v4"
)

// A slotRange is slots in a row of one node.
type slotRange struct{ first, last, owner int }

func (e *Emulated) ranges() (all []slotRange) {
	for slot := range slotCount {
		owner := e.Owner(uint16(slot))
		if slot == 0 || owner != all[len(all)-1].owner {
			all = append(all, slotRange{first: slot, owner: owner})
		}
		all[len(all)-1].last = slot
	}
	return all
}

// id is how the map names a node.
func id(node int) string { return fmt.Sprintf("%040x", node+1) }

func (e *Emulated) writeSlots(p *server.Peer) {
	ranges := e.ranges()
	p.WriteLen(len(ranges))
	for _, r := range ranges {
		host, portText, _ := net.SplitHostPort(e.addrs[r.owner])
		port, _ := strconv.Atoi(portText)
		p.WriteLen(3)
		p.WriteInt(r.first)
		p.WriteInt(r.last)
		p.WriteLen(3)
		p.WriteBulk(host)
		p.WriteInt(port)
		p.WriteBulk(id(r.owner))
	}
}

// nodeLines is CLUSTER NODES as the node tells it.
func (e *Emulated) nodeLines(node int) string {
	of := make([]string, len(e.nodes))
	for _, r := range e.ranges() {
		of[r.owner] += " " + strconv.Itoa(r.first)
		if r.last > r.first {
			of[r.owner] += "-" + strconv.Itoa(r.last)
		}
	}
	var b strings.Builder
	for i, addr := range e.addrs {
		flags := "master"
		if i == node {
			flags = "myself,master"
		}
		fmt.Fprintf(&b, "%s %s@0 %s - 0 0 %d connected%s\n", id(i), addr, flags, i+1, of[i])
	}
	return b.String()
}

// cluster answers CLUSTER SLOTS, NODES, MYID, KEYSLOT and INFO.
func (e *Emulated) cluster(node int, p *server.Peer, args []string) bool {
	if len(args) == 0 {
		return false
	}
	switch strings.ToUpper(args[0]) {
	case "SLOTS":
		e.writeSlots(p)
	case "NODES":
		p.WriteBulk(e.nodeLines(node))
	case "MYID":
		p.WriteBulk(id(node))
	case "KEYSLOT":
		if len(args) != 2 {
			return false
		}
		p.WriteInt(int(radix.ClusterSlot([]byte(args[1]))))
	case "INFO":
		p.WriteBulk(fmt.Sprintf("cluster_state:ok\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%[1]d\r\ncluster_size:%d\r\n", slotCount, len(e.nodes)))
	default:
		return false
	}
	return true
}
