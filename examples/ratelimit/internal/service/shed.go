package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes/limit"
)

// ShedConfig is the settings of a [Shedder]. Its tags are for package flags.
type ShedConfig struct {
	Min     uint `name:"shed-min" default:"64" help:"How many requests may wait for Redis at a time in any case."`
	Max     uint `name:"shed-max" default:"10000" help:"How many at most."`
	Initial uint `name:"shed-initial" default:"256" help:"How many at the beginning."`
}

const (
	// The limit is adjusted as often, once there are so many round trips.
	shedWindow     = 20 * time.Millisecond
	shedMostWindow = time.Second
	shedSamples    = 50

	// How many windows make up what is usual. With few, an overload soon is.
	shedBaseline = 1000

	// The limit may be so many times what has been used of it, so that a burst finds
	// room.
	shedHeadroom = 5
)

// A Shedder bounds how many requests wait for Redis at a time, by how long the round
// trips take: while they are as short as usual the bound grows, and when they become
// longer, since requests queue somewhere, it shrinks. That is the idea of TCP Vegas;
// the algorithm is that of failsafe-go's adaptivelimiter. What is above the bound is
// refused at once, so that what is below it is answered in time.
type Shedder struct {
	limiter adaptivelimiter.AdaptiveLimiter[any]
	shed    prometheus.Counter
}

// NewShedder returns a shedder whose metrics are registered.
func NewShedder(c ShedConfig, registry prometheus.Registerer) *Shedder {
	s := &Shedder{
		limiter: adaptivelimiter.NewBuilder[any]().
			WithLimits(c.Min, c.Max, c.Initial).
			WithMaxLimitFactor(shedHeadroom).
			WithRecentWindow(shedWindow, shedMostWindow, shedSamples).
			WithBaselineWindow(shedBaseline).
			Build(),
		shed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ratelimit_shed_total", Help: "Requests that were refused since too many waited for Redis.",
		}),
	}
	registry.MustRegister(s.shed,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ratelimit_shed_limit", Help: "Requests that may wait for Redis at a time.",
		}, func() float64 { return float64(s.limiter.Limit()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ratelimit_shed_in_flight", Help: "Requests that wait for Redis now.",
		}, func() float64 { return float64(s.limiter.Inflight()) }),
	)
	return s
}

// A permit is a place below the bound. The zero value is that of no shedder.
type permit struct{ adaptivelimiter.Permit }

// enter returns a permit, unless the request has to be refused.
func (s *Shedder) enter() (permit, bool) {
	if s == nil {
		return permit{}, true
	}
	p, ok := s.limiter.TryAcquirePermit()
	if !ok {
		s.shed.Inc()
	}
	return permit{p}, ok
}

// leave gives the permit back. The time that it was held for counts if it was that of
// one round trip, or as long as there was.
func (p permit) leave(counts bool) {
	switch {
	case p.Permit == nil:
	case counts:
		p.Record()
	default:
		p.Drop()
	}
}

// oneTrip reports whether the time that a call took says how long a round trip takes.
// A denied call may take two or none, and one that leases decide takes none. One that
// fails ends before the reply, and says something only if that is because the limiter's
// budget was used up, and not the client's time.
func oneTrip(ctx context.Context, d decision) bool {
	if d.Err != nil {
		return ctx.Err() == nil && errors.Is(d.Err, context.DeadlineExceeded)
	}
	asked := func(d limit.Decision) bool { return !d.Leased && d.Allowed }
	return d.Allowed && slices.ContainsFunc(d.each, asked)
}
