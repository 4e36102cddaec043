package sim

import (
	"maps"
	"time"
)

// sample asks the client for its figures.
func (w *world) sample(stop <-chan struct{}) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-tick.C:
			if n%calmly == 0 || w.schedule.busy(w.rec.now()) {
				w.look()
			}
		}
	}
}

// look notes the client's figures and returns them, and how many connections it says it
// has.
func (w *world) look() (connected int, looked []Sample) {
	w.askMap()
	s, now := w.client.Stats(), w.rec.now()
	w.rec.note(func(h *History) {
		asked := int64(w.syncs.Load())
		h.Refreshes = append(h.Refreshes, Refreshing{now, int64(s.Refreshes+s.RefreshErrors) - asked, asked})
		for _, n := range s.Nodes {
			balance := int64(n.Pool.Dials) - int64(n.Pool.DialErrors) - int64(n.Pool.Dialing) - int64(n.Pool.Open) - int64(n.Pool.Extra)
			for _, closed := range n.Pool.Closes {
				balance -= int64(closed)
			}
			connected += n.Pool.Open + n.Pool.Extra
			h.Samples = append(h.Samples, Sample{
				At: now, Addr: n.Pool.Addr, Role: n.Role, Balance: balance, Pool: n.Pool, Errors: maps.Clone(w.failures[n.Pool.Addr]),
			})
		}
		looked = h.Samples[len(h.Samples)-len(s.Nodes):]
	})
	return connected, looked
}
