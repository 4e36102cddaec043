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

func (n *Node) listenAt(p ports) {
	n.port.Store(int32(p.clients))
	n.bus.Store(int32(p.bus))
}

// freePorts returns the ports of n nodes. They are free now.
func freePorts(n int, r release) ([]ports, error) {
	var found []ports
	for tries := 100 * n; len(found) < n && tries > 0; tries-- {
		p := ports{somePort(endPort), somePort(endPort)}
		if !r.choosesBus() {
			p.clients = somePort(endPort - busOffset)
			p.bus = p.clients + busOffset
		}
		closeClients, clientsFree := tryListen(p.clients)
		defer closeClients()
		closeBus, busFree := tryListen(p.bus)
		defer closeBus()
		if clientsFree && busFree {
			found = append(found, p)
		}
	}
	if len(found) < n {
		return nil, fmt.Errorf("servers: no %d free ports from %d to %d", 2*n, firstPort, endPort)
	}
	return found, nil
}

func somePort(end int) int { return firstPort + rand.IntN(end-firstPort) }

// tryListen listens until it is told to end, so that a port is found once.
func tryListen(port int) (end func(), free bool) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return func() {}, false
	}
	return func() { _ = l.Close() }, true
}
