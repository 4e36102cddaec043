package report

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/internal/usage"
	"github.com/redislanes/redislanes/bench/table"
)

// processors returns how many processors were used, on average.
func (p *Phase) processors(used time.Duration) float64 {
	return used.Seconds() / max(p.Took, 1).Seconds()
}

// busy returns the share of all processors that was used, by whatever process. It is not known
// where the system does not tell.
func (p *Phase) busy() (share float64, known bool) {
	if p.Machine.All == 0 {
		return 0, false
	}
	return p.Machine.Busy.Seconds() / p.Machine.All.Seconds(), true
}

// disturbed reports whether processes that are not of the measurement used much of the
// processors. It is not known if the servers are elsewhere.
func (p *Phase) disturbed(m Machine) bool {
	busy, known := p.busy()
	if !known || m.Given || !p.Servers.Known {
		return false
	}
	all := float64(m.CPUs)
	return busy*all-p.processors(p.CPU+p.Machine.Network+p.Servers.CPU) > usage.Disturbed*all
}

// What bounds go by.
const (
	// A share of the time from which on processors count as busy: what is left is
	// lost between two that have to wait for each other.
	busyFrom = 0.9
	// How many times longer than before a round trip takes under load, from which on
	// busy processors are felt.
	longerFrom = 1.5
	// Batches by request that waited, from which on a pool counts as too small.
	waitedFrom = 0.1
)

// Bounds are what kept a phase from doing more.
const (
	byProcessors = "processors"
	byServer     = "server"
	byPool       = "pool"
	byOthers     = "other processes"
	byRoundTrip  = "round trip"
	byRate       = "rate"
)

// bound says what kept the phase from doing more. Processors go first: they make
// every trip longer, so that callers wait for pools that are not the cause. That
// others keep them busy is not enough, for these may give way; but then it is only
// known of a pool that nearly all have to wait for that it is the cause.
func (p *Phase) bound(m Machine) string {
	share, _ := p.busy()
	busy := share >= busyFrom
	switch {
	case busy && p.longer() >= longerFrom:
		return byProcessors
	case p.Servers.Busiest >= busyFrom:
		return byServer
	case p.waited(busyFrom):
		return byPool
	case busy && p.disturbed(m):
		return byOthers
	case p.waited(waitedFrom):
		return byPool
	case p.load.Rate > 0:
		return byRate
	default:
		return byRoundTrip
	}
}

// waited reports whether that share of the requests waited for a connection.
func (p *Phase) waited(share float64) bool {
	return p.Requests > 0 && float64(p.Use.Waited) >= share*float64(p.Requests)
}

// longer returns how many times longer a round trip took under load; longerFrom if
// that is not known.
func (p *Phase) longer() float64 {
	if p.IdleTrips.Count() == 0 || p.LoadedTrips.Count() == 0 || p.IdleTrips.At(50) == 0 {
		return longerFrom
	}
	return float64(p.LoadedTrips.At(50)) / float64(p.IdleTrips.At(50))
}

// resourceTable says what each row used.
func (r *Report) resourceTable() *table.Table {
	t := &table.Table{Text: 2, Head: []string{"run", "endpoint", "bound by", "RTT idle", "RTT loaded", "machine busy", "client", "servers", "busiest",
		"server CPU/req", "sent", "received"}}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		t.Add(append([]string{run.Name, e.RowName(p)}, p.resources()...)...)
	})
	return t
}

// resources are the cells of the row behind its name.
func (p *Phase) resources() []string {
	const unknown = "?"
	trip := func(l load.Histogram) string {
		if l.Count() == 0 {
			return unknown
		}
		return table.Duration(l.At(50))
	}
	cells := []string{p.Bound, trip(p.IdleTrips), trip(p.LoadedTrips), unknown, fmt.Sprintf("%.2f", p.processors(p.CPU))}
	if busy, known := p.busy(); known {
		cells[3] = percent(busy)
	}
	s := p.Servers
	if !s.Known {
		return append(cells, unknown, unknown, unknown, unknown, unknown)
	}
	return append(cells, fmt.Sprintf("%.2f", p.processors(s.CPU)), fmt.Sprintf("%.2f", s.Busiest), table.Nanoseconds(p.PerRequest(float64(s.CPU))),
		table.Bytes(p.PerRequest(float64(s.Received))), table.Bytes(p.PerRequest(float64(s.Sent))))
}

func percent(share float64) string {
	if share > 0 && share < 0.001 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.3g %%", share*100)
}
