package servers

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are chosen below those that systems give to outgoing connections, so
// that a node which is started again finds its port free.
const firstPort, endPort = 20000, 32000

// busOffset is between a node's ports where the server does not let the bus'
// one be chosen.
const busOffset = 10000

// ports are where a node listens: for clients, and for other nodes.
type ports struct{ clients, bus int }

// freePorts returns the ports of n nodes. They are free, and the cluster's until it is closed.
func (c *Cluster) freePorts(n int) ([]ports, error) {
	var found []ports
	for tries := 100 * n; len(found) < n && tries > 0; tries-- {
		p := ports{somePort(endPort), somePort(endPort)}
		if !c.release.choosesBus() {
			p.clients = somePort(endPort - busOffset)
			p.bus = p.clients + busOffset
		}
		if c.claim(p.clients) && c.claim(p.bus) {
			found = append(found, p)
		}
	}
	if len(found) < n {
		return nil, fmt.Errorf("servers: no %d free ports from %d to %d", 2*n, firstPort, endPort)
	}
	return found, nil
}

func somePort(end int) int { return firstPort + rand.IntN(end-firstPort) }

// claim reports whether the port is free, and keeps it for the cluster's nodes. Otherwise
// the tests of other packages might take it while a node is down. A claim is a UDP socket, since the
// servers use TCP alone: it ends with the process, whatever ends that.
func (c *Cluster) claim(port int) bool {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	claim, err := net.ListenPacket("udp", addr)
	if err != nil {
		return false
	}
	c.claims = append(c.claims, claim)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// giveUpPorts ends the claims.
func (c *Cluster) giveUpPorts() {
	for _, claim := range c.claims {
		_ = claim.Close()
	}
}
