package nodepool

import "time"

// CloseDrained is Close that lets calls of Do end first, for a second at most, also
// those that wait for a connection. Calls that come in the first 10 ms are served, later
// ones refused with ErrClosed.
func (n *Node) CloseDrained() error {
	n.drainCalls()
	return n.Close()
}

func (n *Node) drainCalls() {
	late := time.NewTimer(lateCalls)
	defer late.Stop()
	select {
	case <-late.C:
	case <-n.main.ctx.Done(): // it is closed already
		return
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		n.calls.Close()
	}()
	limit := time.NewTimer(drainTime - lateCalls)
	defer limit.Stop()
	select {
	case <-drained:
	case <-limit.C:
	case <-n.main.ctx.Done():
	}
}
