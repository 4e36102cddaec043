// Package linear holds tests that look for an order of all operations: the totals that callers of
// a real cluster were told while slots moved and connections were killed, and the decisions of
// eight processes that share rate limits with leases.
package linear
