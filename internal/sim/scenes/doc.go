// Package scenes has tests of what the client does when something goes wrong, in a
// simulated cluster (package redistest/sim) and virtual time. Each test builds the world
// that it needs: a fault, calls, and what must hold, with exact times. Random worlds, in
// package internal/sim, have neither.
package scenes
