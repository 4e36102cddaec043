package redistest

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// A slotRange is slots in a row of one node.
type slotRange struct{ first, last, owner int }

func (e *Emulated) ranges() (all []slotRange) {
	for slot, owner := range e.owner {
		if slot == 0 || owner != e.owner[slot-1] {
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
