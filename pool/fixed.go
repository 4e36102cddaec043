package pool

// DefaultSize is the number of connections of a [Fixed] pool, and the most of
// an [Adaptive] one, unless they are set.
const DefaultSize = 50

// Fixed is a pool of Size connections, each of which serves one batch at a
// time. Batches that find all in use wait in order.
type Fixed struct {
	// Size is the number of connections to each server. Default 50.
	Size int

	Options
}

func (f Fixed) settings() (settings, error) {
	orDefault(&f.Size, DefaultSize)
	f.Options = f.withDefaults()
	err := firstError(notNegative("Fixed", "Size", f.Size), f.validate("Fixed"))
	return settings{Options: f.Options, kind: "fixed", min: f.Size, max: f.Size, maxInFlight: 1}, err
}
