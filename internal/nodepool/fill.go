package nodepool

// Filled is closed once the node has the connections that it keeps for batches, or is known
// not to get them now: a dial has failed, or the node is retired or closed.
func (n *Node) Filled() <-chan struct{} { return n.main.filled }

// fillLocked closes filled when it is time.
func (p *Pool) fillLocked(failed bool) {
	if p.isFilled || !failed && p.size.open < p.Min && !p.closed && !p.retired {
		return
	}
	p.isFilled = true
	close(p.filled)
}
