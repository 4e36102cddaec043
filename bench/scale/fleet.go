package main

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// A fleet is instances that count hits on one key, all of them at the same node. Each
// merges its hits as Counters do: up to mostBeside INCRBYs are out at a time while each
// has one hit; otherwise one is, and what comes meanwhile leaves with the next, as soon as
// it is back.
type fleet struct {
	Instances int           `json:"instances"`
	Rate      float64       `json:"rate"`    // hits a second of each instance, by chance (Poisson)
	RoundTrip time.Duration `json:"trip"`    // without the node's time
	Service   time.Duration `json:"service"` // of the node for one INCRBY with its EXPIRE, one after the other
}

const mostBeside = 8 // as Counters have for calls of several hits

// A fleetRun is what became of it.
type fleetRun struct {
	fleet
	During  time.Duration `json:"during"`
	Hits    int64         `json:"hits"`
	Flights int64         `json:"flights"` // INCRBYs
	Busy    float64       `json:"busy"`    // share of the time that the node worked
	P50     time.Duration `json:"p50"`     // of a hit, from its arrival to its total
	P99     time.Duration `json:"p99"`
}

// An instance is what is known of its key there.
type instance struct {
	first   *sent // for which others wait; nil if none is out
	beside  int   // with one hit each, besides the first
	waiting []float64
}

// A sent is an INCRBY that is out.
type sent struct {
	by   *instance
	hits []float64 // when each came, in seconds
}

// An event is a hit that comes, or an INCRBY that is at the node or back from it.
type event struct {
	at   float64
	by   *instance
	out  *sent // nil for a hit
	back bool
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() (last any) {
	old := *e
	last, *e = old[len(old)-1], old[:len(old)-1]
	return last
}

// A simulation is a fleet on its way.
type simulation struct {
	fleet
	random  *rand.Rand
	pending events
	begin   float64   // when counting begins, in seconds
	free    float64   // when the node is
	worked  float64   // how long it has, since begin
	took    []float64 // of hits
	fleetRun
}

// simulate follows the fleet for so long, after a fifth of that to begin with.
func (f fleet) simulate(during time.Duration, seed uint64) fleetRun {
	s := &simulation{fleet: f, random: rand.New(rand.NewPCG(seed, uint64(f.Instances))), begin: during.Seconds() / 5}
	s.fleetRun = fleetRun{fleet: f, During: during}
	for range f.Instances {
		s.expect(0, new(instance))
	}
	for end := s.begin + during.Seconds(); ; {
		e := heap.Pop(&s.pending).(event)
		switch {
		case e.at >= end:
			s.Busy = s.worked / during.Seconds()
			s.P50, s.P99 = percentile(s.took, 0.5), percentile(s.took, 0.99)
			return s.fleetRun
		case e.out == nil:
			s.hit(e.at, e.by)
			s.expect(e.at, e.by)
		case !e.back:
			s.serve(e.at, e.out)
		default:
			s.land(e.at, e.out)
		}
	}
}

// expect lets the instance's next hit come.
func (s *simulation) expect(now float64, i *instance) {
	heap.Push(&s.pending, event{at: now + s.random.ExpFloat64()/s.fleet.Rate, by: i})
}

func (s *simulation) hit(now float64, i *instance) {
	switch {
	case i.first == nil:
		i.first = s.send(now, i, []float64{now})
	case len(i.first.hits) == 1 && len(i.waiting) == 0 && i.beside < mostBeside-1:
		i.beside++
		s.send(now, i, []float64{now})
	default:
		i.waiting = append(i.waiting, now)
	}
}

func (s *simulation) send(now float64, i *instance, hits []float64) *sent {
	out := &sent{i, hits}
	heap.Push(&s.pending, event{at: now + s.fleet.RoundTrip.Seconds()/2, out: out})
	return out
}

// serve lets the node execute what has arrived, behind what has before.
func (s *simulation) serve(now float64, out *sent) {
	service := s.fleet.Service.Seconds()
	s.free = max(s.free, now) + service
	if now >= s.begin {
		s.worked += service
		s.Flights++
		s.Hits += int64(len(out.hits))
	}
	heap.Push(&s.pending, event{at: s.free + s.fleet.RoundTrip.Seconds()/2, out: out, back: true})
}

func (s *simulation) land(now float64, out *sent) {
	for _, came := range out.hits {
		if now >= s.begin {
			s.took = append(s.took, now-came)
		}
	}
	i := out.by
	switch {
	case out != i.first:
		i.beside--
	case len(i.waiting) > 0:
		i.first, i.waiting = s.send(now, i, i.waiting), nil
	default:
		i.first = nil
	}
}

func percentile(seconds []float64, p float64) time.Duration {
	if len(seconds) == 0 {
		return 0
	}
	slices.Sort(seconds)
	return time.Duration(seconds[int(p*float64(len(seconds)-1))] * float64(time.Second))
}

// wholeFleets have the same hits a second on fewer and more instances, and a node that
// can do 250,000 INCRBY with EXPIRE a second.
func wholeFleets() (all []fleet) {
	for _, rate := range []float64{100_000, 1_000_000} {
		for _, instances := range []int{1, 10, 100, 1000, 10_000} {
			all = append(all, fleet{instances, rate / float64(instances), time.Millisecond, 4 * time.Microsecond})
		}
	}
	return all
}

const fleetDuring = 2 * time.Second
