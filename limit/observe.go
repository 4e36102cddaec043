package limit

import "time"

// An Observer is told of decisions; limits.Observer is one, for Prometheus. It
// is called from many goroutines, must be quick and must not block.
type Observer interface {
	// Decided is called at the end of each call of Allow, by the goroutine that
	// made it. What it is given must not be kept or changed.
	Decided(took time.Duration, requests []Request, result Result)
}

// An Outcome is what became of a request, for metrics.
type Outcome uint8

// What may become of a request.
const (
	Allowed      Outcome = iota // within its limit
	Denied                      // over its limit
	DeniedNear                  // over its limit, by the near cache
	FailedOpen                  // allowed without Redis
	FailedClosed                // denied without Redis
	NotAsked                    // another limit of the call denied it before
	Mistaken                    // the request cannot be used

	// Outcomes is how many outcomes there are.
	Outcomes = 7
)

// String returns "allowed", "denied", "denied_near", "failed_open",
// "failed_closed", "not_asked" or "mistaken".
func (o Outcome) String() string {
	return [...]string{"allowed", "denied", "denied_near", "failed_open", "failed_closed", "not_asked", "mistaken"}[min(o, Mistaken)]
}

// Outcome returns what became of one request of a call, an element of Result.Each.
func (d *Decision) Outcome() Outcome {
	switch {
	case d.mistake:
		return Mistaken
	case d.Err != nil && d.Allowed:
		return FailedOpen
	case d.Err != nil:
		return FailedClosed
	case d.Near:
		return DeniedNear
	case d.Allowed:
		return Allowed
	case d.RetryAfter > 0:
		return Denied
	}
	return NotAsked
}
