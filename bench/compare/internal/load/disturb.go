package load

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/redistest"
)

// jitterEvery is how often the delays of a network are drawn anew.
const jitterEvery = time.Millisecond

var directions = []redistest.Direction{redistest.ToServer, redistest.ToClient}

// disturb lets the network before one server vary, until quit is closed. The seed
// makes servers differ, and a measurement the same again.
func (c networkConfig) disturb(p *redistest.Proxy, seed uint64, quit <-chan struct{}) {
	random := rand.New(rand.NewPCG(seed, 0))
	var jitter, hiccup <-chan time.Time
	if c.Jitter > 0 {
		tick := time.NewTicker(jitterEvery)
		defer tick.Stop()
		jitter = tick.C
	}
	next := time.NewTimer(time.Hour)
	defer next.Stop()
	if c.HiccupFor > 0 {
		next.Reset(c.nextHiccup(random))
		hiccup = next.C
	}
	stalled := false
	for {
		select {
		case <-jitter:
			for _, d := range directions {
				p.Delay(d, c.delay(random))
			}
		case <-hiccup:
			stalled = !stalled
			for _, d := range directions {
				if stalled {
					p.Stall(d)
				} else {
					p.Flow(d)
				}
			}
			if stalled {
				next.Reset(c.HiccupFor)
			} else {
				next.Reset(c.nextHiccup(random))
			}
		case <-quit:
			return
		}
	}
}

// delay draws that of one direction.
func (c networkConfig) delay(random *rand.Rand) time.Duration {
	return c.RoundTrip/2 + time.Duration(random.Float64()*float64(c.Jitter/2))
}

// nextHiccup draws the time until the next one: they come independently of each
// other, so that those of several servers do not fall into step.
func (c networkConfig) nextHiccup(random *rand.Rand) time.Duration {
	return time.Duration(random.ExpFloat64() * float64(c.HiccupEvery))
}
