package nodepool

// The number of connections of a [Fixed] pool, and the most of an [Adaptive]
// one, unless they are set.
const (
	DefaultSize       = 50 // to each node of a cluster
	DefaultSingleSize = 10 // to a server that stands alone
)

// Fixed is pool.Fixed.
type Fixed struct {
	Size int

	Options
}

func (f Fixed) settings() (settings, error) {
	orDefault(&f.Size, DefaultSingleSize)
	f.Options = f.withDefaults()
	err := firstError(inRange("Fixed", "Size", f.Size, mostConnections), f.validate("Fixed"))
	return settings{Options: f.Options, kind: "fixed", min: f.Size, max: f.Size, maxInFlight: 1}, err
}

func (f Fixed) inCluster() Config {
	orDefault(&f.Size, DefaultSize)
	return f
}
