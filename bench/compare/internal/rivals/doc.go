// Package rivals reads the raw files of bench/peers, for pictures of requests per second by
// client. It knows nothing else of them: bench/peers makes the tables.
package rivals
