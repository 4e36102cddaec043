package report

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
)

// Resources are what a phase used. What is not known is nil.
type Resources struct {
	IdleTrip   *Latency `json:"round_trip_idle,omitempty"`   // of PING before the load
	LoadedTrip *Latency `json:"round_trip_loaded,omitempty"` // and during it, on a connection of its own

	// Shares of processors: 1 is one processor, but for the machine all there are.
	Machine *float64 `json:"machine_busy,omitempty"` // share of all processors, by whatever process
	Client  float64  `json:"client_processors"`
	Network float64  `json:"network_processors,omitempty"` // of the proxies
	Others  *float64 `json:"other_processors,omitempty"`   // processes that are not of the measurement, if the servers are here

	Servers *ServerUse `json:"servers,omitempty"`

	GCPauses       uint32        `json:"gc_pauses"`
	GCPauseTime    time.Duration `json:"gc_pause_time_ns"`
	GCLongestPause time.Duration `json:"gc_longest_pause_ns"`
	MaxHeap        uint64        `json:"max_heap_bytes"`
	MaxGoroutines  int           `json:"max_goroutines"`
}

// A ServerUse is what the servers say they used.
type ServerUse struct {
	Processors float64 `json:"processors"`           // of all together
	Busiest    float64 `json:"busiest"`              // of the one that used most, in the round where it was highest
	CPU        float64 `json:"cpu_per_request_ns"`   // of all together
	Sent       float64 `json:"sent_per_request"`     // bytes, to the servers
	Received   float64 `json:"received_per_request"` // bytes, from the servers
	SentRate   float64 `json:"sent_per_second"`      // bytes
	Rate       float64 `json:"received_per_second"`  // bytes
}

// resourcesOf returns what the rounds used together, with so many processors here.
// Servers that were started for the measurement use these, too.
func resourcesOf(s *load.Result, processors int, serversHere bool) Resources {
	took := s.Took.Seconds()
	r := Resources{
		GCPauses: s.Machine.Pauses, GCPauseTime: s.Machine.PauseTime, GCLongestPause: s.Machine.LongestPause,
		MaxHeap: s.Use.MaxHeap, MaxGoroutines: s.Use.MaxGoroutines,
	}
	if s.IdleTrips.TotalCount() > 0 {
		l := latencyOf(s.IdleTrips)
		r.IdleTrip = &l
	}
	if s.LoadedTrips.TotalCount() > 0 {
		l := latencyOf(s.LoadedTrips)
		r.LoadedTrip = &l
	}
	if took <= 0 {
		return r
	}
	r.Client, r.Network = s.CPU.Seconds()/took, s.Machine.Network.Seconds()/took
	if u := s.Servers; u.Known {
		r.Servers = &ServerUse{
			Processors: u.CPU.Seconds() / took, Busiest: u.Busiest, CPU: s.PerRequest(float64(u.CPU)),
			Sent: s.PerRequest(float64(u.Received)), Received: s.PerRequest(float64(u.Sent)),
			SentRate: float64(u.Received) / took, Rate: float64(u.Sent) / took,
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
	// othersFrom is the share of the processors from which on other processes have
	// disturbed the measurement.
	othersFrom = 0.1
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
	return p.Requests > 0 && float64(p.Waited) >= share*float64(p.Requests)
}

// disturbed reports whether other processes used much of so many processors.
func (r Resources) disturbed(processors int) bool {
	return r.Others != nil && *r.Others > othersFrom*float64(processors)
}

// longer returns how many times longer a round trip took under load; longerFrom if
// that is not known.
func (r Resources) longer() float64 {
	if r.IdleTrip == nil || r.LoadedTrip == nil || r.IdleTrip.At(50) == 0 {
		return longerFrom
	}
	return float64(r.LoadedTrip.At(50)) / float64(r.IdleTrip.At(50))
}

// resourceTable says what each row used.
func (r *Report) resourceTable() *table {
	t := &table{text: 2, head: resourceHead}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		t.add(append([]string{run.Name, e.RowName(p)}, p.Resources.cells(p.Bound)...)...)
	})
	return t
}

var resourceHead = []string{"run", "endpoint", "bound by", "RTT idle", "RTT loaded", "machine busy", "client", "servers", "busiest",
	"server CPU/req", "sent", "received", "GC pauses", "longest", "heap", "goroutines"}

// cells are those of the row behind its name.
func (r Resources) cells(bound string) []string {
	const unknown = "?"
	trip := func(l *Latency) string {
		if l == nil {
			return unknown
		}
		return duration(l.At(50))
	}
	cells := []string{bound, trip(r.IdleTrip), trip(r.LoadedTrip), unknown, fmt.Sprintf("%.2f", r.Client)}
	if r.Machine != nil {
		cells[3] = percent(*r.Machine)
	}
	if s := r.Servers; s != nil {
		cells = append(cells, fmt.Sprintf("%.2f", s.Processors), fmt.Sprintf("%.2f", s.Busiest),
			duration(time.Duration(s.CPU)), bytesText(s.Sent), bytesText(s.Received))
	} else {
		cells = append(cells, unknown, unknown, unknown, unknown, unknown)
	}
	return append(cells, fmt.Sprint(r.GCPauses), duration(r.GCLongestPause), bytesText(float64(r.MaxHeap)), fmt.Sprint(r.MaxGoroutines))
}

func percent(share float64) string {
	if share > 0 && share < 0.001 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.3g %%", share*100)
}

// bytesText writes a size with three digits.
func bytesText(v float64) string {
	for _, u := range []struct {
		from float64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}} {
		if v >= u.from {
			return fmt.Sprintf("%.3g %s", v/u.from, u.name)
		}
	}
	return fmt.Sprintf("%.0f B", v)
}
