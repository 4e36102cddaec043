//go:build !linux

package network

// sharpenTimers is for Linux only: elsewhere the times of a network are as exact
// as the system's timers.
func sharpenTimers() {}
