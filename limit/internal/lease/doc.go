// Package lease decides how many hits a process reserves in advance for a key, and hands them
// out. It has no clock, no goroutine and no I/O.
//
// A [Lease] holds hits that Redis has counted and nobody has used. What it hands out is counted
// already, so that no limit is exceeded, whatever happens to the process: hits that are lost
// with it stay counted until their window ends.
package lease
