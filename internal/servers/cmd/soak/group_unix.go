//go:build unix

package main

import "syscall"

// A group is the process group that this process was started in.
type group int

func ownGroup() group { return group(syscall.Getpgrp()) }

// apart does what starts servers in a process group of their own, which they
// inherit: Ctrl-C at a terminal goes to the whole foreground group, and must
// end the load, not the servers. Where the system refuses, as it does to the
// leader of a session, they stay in this group.
func (g group) apart(start func() error) error {
	if syscall.Setpgid(0, 0) == nil {
		defer func() { _ = syscall.Setpgid(0, int(g)) }()
	}
	return start()
}
