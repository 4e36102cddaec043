package report

import (
	"fmt"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/internal/usage"
	"github.com/redislanes/redislanes/bench/table"
)

// Resources are what a phase used. What is not known is nil.
type Resources struct {
	// Round trips of PING before the load and during it, on a connection of its own.
	IdleTrip, LoadedTrip load.Histogram

	// Shares of processors: 1 is one processor, but for the machine all there are.
	Machine *float64 // share of all processors, by whatever process
	Client  float64
	Network float64  // of the proxies
	Others  *float64 // processes that are not of the measurement, if the servers are here

	Servers *ServerUse
}

// A ServerUse is what the servers say they used.
type ServerUse struct {
	Processors float64 // of all together
	Busiest    float64 // of the one that used most, in the round where it was highest
	CPU        float64 // of all together
	Sent       float64 // bytes, to the servers
	Received   float64 // bytes, from the servers
}

// resourcesOf returns what the rounds used together, with so many processors here.
// Servers that were started for the measurement use these, too.
func resourcesOf(s *load.Result, processors int, serversHere bool) Resources {
	took := s.Took.Seconds()
	r := Resources{IdleTrip: s.IdleTrips, LoadedTrip: s.LoadedTrips}
	if took <= 0 {
		return r
	}
	r.Client, r.Network = s.CPU.Seconds()/took, s.Machine.Network.Seconds()/took
	if u := s.Servers; u.Known {
		r.Servers = &ServerUse{
			Processors: u.CPU.Seconds() / took, Busiest: u.Busiest, CPU: s.PerRequest(float64(u.CPU)),
			Sent: s.PerRequest(float64(u.Received)), Received: s.PerRequest(float64(u.Sent)),
		}
	}
	if s.Machine.All > 0 {
		busy := s.Machine.Busy.Seconds() / s.Machine.All.Seconds()
		r.Machine = &busy
		if serversHere && r.Servers != nil {
			others := max(0, busy*float64(processors)-r.Client-r.Network-r.Servers.Processors)
			r.Others = &others
		}
	}
	return r
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
func (p *Phase) bound(open bool, processors int) string {
	r := p.Resources
	switch {
	case r.Machine != nil && *r.Machine >= busyFrom && r.longer() >= longerFrom:
		return byProcessors
	case r.Servers != nil && r.Servers.Busiest >= busyFrom:
		return byServer
	case p.waited(busyFrom):
		return byPool
	case r.Machine != nil && *r.Machine >= busyFrom && r.disturbed(processors):
		return byOthers
	case p.waited(waitedFrom):
		return byPool
	case open:
		return byRate
	default:
		return byRoundTrip
	}
}

// waited reports whether that share of the requests waited for a connection.
func (p *Phase) waited(share float64) bool {
	return p.Requests > 0 && float64(p.Use.Waited) >= share*float64(p.Requests)
}

// disturbed reports whether other processes used much of so many processors.
func (r Resources) disturbed(processors int) bool {
	return r.Others != nil && *r.Others > usage.Disturbed*float64(processors)
}

// longer returns how many times longer a round trip took under load; longerFrom if
// that is not known.
func (r Resources) longer() float64 {
	if r.IdleTrip.Count() == 0 || r.LoadedTrip.Count() == 0 || r.IdleTrip.At(50) == 0 {
		return longerFrom
	}
	return float64(r.LoadedTrip.At(50)) / float64(r.IdleTrip.At(50))
}

// resourceTable says what each row used.
func (r *Report) resourceTable() *table.Table {
	t := &table.Table{Text: 2, Head: resourceHead}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		t.Add(append([]string{run.Name, e.RowName(p)}, p.Resources.cells(p.Bound)...)...)
	})
	return t
}

var resourceHead = []string{"run", "endpoint", "bound by", "RTT idle", "RTT loaded", "machine busy", "client", "servers", "busiest",
	"server CPU/req", "sent", "received"}

// cells are those of the row behind its name.
func (r Resources) cells(bound string) []string {
	const unknown = "?"
	trip := func(l load.Histogram) string {
		if l.Count() == 0 {
			return unknown
		}
		return table.Duration(l.At(50))
	}
	cells := []string{bound, trip(r.IdleTrip), trip(r.LoadedTrip), unknown, fmt.Sprintf("%.2f", r.Client)}
	if r.Machine != nil {
		cells[3] = percent(*r.Machine)
	}
	s := r.Servers
	if s == nil {
		return append(cells, unknown, unknown, unknown, unknown, unknown)
	}
	return append(cells, fmt.Sprintf("%.2f", s.Processors), fmt.Sprintf("%.2f", s.Busiest), table.Nanoseconds(s.CPU), table.Bytes(s.Sent), table.Bytes(s.Received))
}

func percent(share float64) string {
	if share > 0 && share < 0.001 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.3g %%", share*100)
}
