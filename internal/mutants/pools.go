package main

// pools are promises of the size of a pool, and of its queue.
var pools = []promise{
	{"FailFast refuses a caller only if no connection is free or opening", []mutant{
		{fault: "FailFast refuses callers while a connection or the only lane is replaced", at: "internal/nodepool.Pool.fullLocked",
			by: instead("p.size.open < p.Max && p.spareLocked()", "len(p.members) < p.Max"), tests: "./internal/nodepool TestFailFastBesideOneThatLeaves|TestMaxAge"},
		{fault: "FailFast refuses a caller that is back before its connection is", at: "internal/nodepool.Pool.fullLocked",
			by: never("InFlight", "busy"), tests: "./internal/nodepool TestFailFastKnowsWhoIsBack"},
		{fault: "FailFast waits for a connection that may not be opened", at: "internal/nodepool.Pool.fullLocked",
			by: always("spareLocked"), tests: "./pool TestFailFastWhileSilent"},
	}},
	{"a returned connection serves the queue only if it is open", []mutant{
		{fault: "a closed connection is lent to the one who waits", at: "internal/nodepool.exclusiveAccess.offerLocked",
			by: always("Err"), tests: "./internal/nodepool TestClosedConnectionIsNotLent"},
		{fault: "a connection returned after Retire serves on", at: "internal/nodepool.Pool.drainLocked",
			by: drop("spent"), tests: "./internal/nodepool TestReturnedAfterRetire"},
	}},
	{"a connection that a pool gives up is drained", []mutant{
		{fault: "a lane that is taken away is cut", at: "internal/nodepool.sharedAccess.trimLocked",
			by: instead("a.leaveLocked(m, errIdle, false)", "a.leaveLocked(m, errIdle, true)"), tests: "./internal/nodepool TestLanesAreDrained"},
	}},
	{"a pool shrinks slowly, by the load of its callers", []mutant{
		{fault: "a pool shrinks by what it sees at the moment", at: "internal/nodepool.Pool.lookLocked",
			by: instead("TakePeak", "Now"), tests: "./internal/nodepool TestBurstsBetweenLooks"},
		{fault: "a connection counts as in use after its caller has the reply", at: "internal/nodepool.Pool.loadLocked",
			by: always("InFlight"), tests: "./internal/nodepool TestLoadIsWhatIsInFlight"},
		{fault: "a shrink leaves no room", at: "internal/nodepool.control.shrunk",
			by: instead("max(c.sized(c.peak), c.min)", "max(1, c.peak/c.depth, c.min)"), tests: "./internal/nodepool TestControlDoesNotOscillate"},
		{fault: "a pool shrinks because its server is down", at: "internal/nodepool.Pool.lookLocked",
			by: never("health.Down"), tests: "./internal/nodepool TestDownIsNoQuietTime"},
	}},
	{"a full queue refuses callers without a lock", []mutant{
		{fault: "who is refused queues for the lock of those who are served", at: "internal/nodepool.sharedAccess.submit",
			by: never("MaxWaiters"), tests: "./internal/nodepool TestRefusalTakesNoLock"},
	}},
}
