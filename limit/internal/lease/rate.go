package lease

import "time"

// A rate is how many calls hit a key in its busiest tick lately, and what they cost. The more often the key is hit, the
// shorter its ticks are.
type rate struct {
	speed   uint8         // a tick lasts for SlowTick >> speed
	since   time.Duration // when the tick began
	last    time.Duration // when the last call came
	calls   int64         // in this tick
	busiest int64         // calls in the busiest one
	cost    float64       // average of a call
}

const (
	// Tick is how long calls are added up, at least. A lease lasts for about a tick.
	Tick = SlowTick >> fastest

	// SlowTick is how long they are added up at most. A refill costs about as much as some calls
	// that ask Redis, so a key that is hit rarely has longer ticks.
	SlowTick = 5120 * time.Millisecond
	fastest  = 8
	few      = 32  // calls in a tick: the next one is longer
	enough   = 128 // calls in a tick: the next one is shorter, and begins now

	most = 1 << 30 // calls in a tick
)

func (r *rate) length() time.Duration { return SlowTick >> r.speed }

// note adds a call. busiest is halved by each tick that has less than half of it. The length of ticks follows it.
func (r *rate) note(cost int64, at time.Duration) {
	if length := r.length(); at-r.since >= length {
		ended := (at - r.since) / length
		r.since += ended * length
		for ; ended > 0 && r.busiest > 0; ended-- {
			if 2*r.calls < r.busiest {
				r.busiest /= 2
			}
			r.calls = 0
		}
		if r.busiest < few && r.speed > 0 {
			r.speed, r.busiest = r.speed-1, 2*r.busiest
		}
	}
	if r.busiest == 0 { // nothing is known, or nothing any more
		*r = rate{since: at, cost: float64(cost)}
	}
	r.last, r.calls, r.cost = at, r.calls+1, r.cost+(float64(cost)-r.cost)/8
	r.busiest = max(r.busiest, r.calls)
	if r.calls >= enough && r.speed < fastest {
		r.speed, r.since, r.busiest, r.calls = r.speed+1, at, r.calls/2, 0
	}
}

// needs returns how many hits the busiest tick needs.
func (r *rate) needs() float64 { return min(float64(r.busiest)*r.cost, 1<<60) }

// takes returns how long so many calls take as the busiest tick had: a tick, or less if this is the one, and has not
// ended.
func (r *rate) takes() time.Duration {
	if r.calls < r.busiest {
		return r.length()
	}
	return min(r.length(), max(Tick, r.last-r.since))
}
