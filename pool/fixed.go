package pool

// The number of connections of a [Fixed] pool, and the most of an [Adaptive]
// one, unless they are set.
const (
	DefaultSize       = 50 // to each node of a cluster
	DefaultSingleSize = 10 // to a server that stands alone
)

// Fixed is a pool of Size connections, each of which serves one batch at a
// time. Batches that find all in use wait in order.
type Fixed struct {
	// Size is the number of connections to each server. Default 50 to each node
	// of a cluster, 10 to a server that stands alone; at most 65,536.
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
