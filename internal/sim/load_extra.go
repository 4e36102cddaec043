package sim

// extras are calls that some callers make behind another one. They draw from a source of
// their own.
var extras []action

func init() {
	extras = []action{
		{"once", 10, (*attempt).once},
		{"swarm", 3, (*attempt).swarm},
		{watching, 8, (*attempt).watcher},
		{"refused pipeline", 3, (*attempt).refusedPipeline},
		{allowing, 3, (*attempt).rush},
		{"hold", 6, (*attempt).hold},
		{"reserve", 4, (*attempt).reservations},
	}
}

// extraOf is how many calls of a caller there are for one of these.
const extraOf = 5

// extra makes one of them behind the k-th call of a caller, or none.
func (w *world) extra(n, k int) {
	r := source(w.seed, ofExtra, uint64(n)<<32|uint64(k))
	if chance(r, extraOf) {
		w.call(r, (n*10_000+k)*1000+500, pick(r, extras))
	}
}
