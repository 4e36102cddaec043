package pool

import "time"

// The most that settings may be. More is a mistake.
const (
	// A server has 65,535 ports for the connections from one address.
	mostConnections = 1 << 16 // 65,536

	// The set of lanes is copied when one joins.
	mostLanes = 1 << 10 // 1,024

	mostWaiters  = 1 << 20 // 1,048,576
	mostInFlight = 1 << 20 // 1,048,576
)

// The least that times may be, where it is more than the least of every setting.
const (
	// leastAge is the least MaxAge: a connection that lives for less costs more than it is
	// used.
	leastAge = time.Second
)
