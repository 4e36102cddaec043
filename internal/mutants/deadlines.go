package main

// deadlines are promises of deadlines, of callers that leave, and of Close.
var deadlines = []promise{
	{"a call ends at its deadline", []mutant{
		{fault: "callers wait behind a missing reply: no deadline of their own", at: "internal/wire.Call.sleep",
			by: without("own"), tests: "./internal/wire TestCallerLeavesASilentServerAtItsDeadline, ./internal/faults TestDeadlineAtEveryWait/full_lane"},
		{fault: "deadlines of any connection are relied on", at: "internal/wire.newLane",
			by: instead("conn.SetReadDeadline(time.Time{}) == nil", "true"), tests: "./internal/wire TestCallersLeaveConnectionsWithoutDeadlines"},
		{fault: "a second look after the context's end misses a batch", at: "internal/wire.Call.Next",
			by: before("if err != nil { return false, err }", "pending"), tests: "./cluster TestSequentialDeadline"},
		{fault: "a caller of several lanes looks twice after its context's end", at: "internal/wire.Call.look",
			by: never("lookBy"), tests: "./internal/wire TestOneSilentServerCostsOnlyItsCommands"},
		{fault: "a call without a deadline waits on its own connection for a silent server", at: "internal/nodepool.member.waitsLocked",
			by: instead("m.state != dedicated || !m.mayBeQuiet()", "m.state != dedicated"), tests: "./cluster TestCallsEndWithoutADeadline"},
		{fault: "a command that waits for data is taken for a silent server", at: "internal/nodepool.member.waitsLocked",
			by: instead("m.state != dedicated || !m.mayBeQuiet()", "true"), tests: "./cluster TestUsersOfConnectionsTakeTheirTime"},
		{fault: "a command behind one that waits for data makes its silence suspicious", at: "internal/nodepool.member.expectWait",
			by: never("behind"), tests: "./internal/nodepool TestWaitBehindAWait"},
		{fault: "a command that waits for ever is taken for a silent server", at: "internal/command.timeout",
			by: never("n == 0"), tests: "./internal/command TestWaits"},
		{fault: "a silence on a dedicated connection is looked at late", at: "internal/nodepool.member.Submit",
			by: drop("attend"), tests: "./cluster TestSilenceBehindAPause"},
	}},
	{"a write has a deadline, and not that of another", []mutant{
		{fault: "the kernel waits for an acknowledgement for a quarter of an hour", at: "internal/wire.WithDefaults",
			by: without("limitUnacknowledged"), tests: "./internal/wire TestUnacknowledgedBytesAreLimited"},
		{fault: "a write has the deadline of one that has waited", at: "internal/wire.Lane.writeBlocking",
			by: drop("SetWriteDeadline", "time.Time{}"), tests: "./internal/wire TestWriteDeadlineIsTakenBack"},
	}},
	{"a caller that leaves costs the others nothing", []mutant{
		{fault: "memory is written after the caller has left", at: "internal/wire.Lane.abandon",
			by: drop("abandoned"), tests: "-race ./internal/wire TestNothingWritesToAnAbandonedBatch"},
		{fault: "an expired context closes a healthy connection", at: "internal/wire.Lane.abandon",
			by: after("l.Fail(cause)", "Unlock"), tests: "./internal/wire TestNeighboursOfAnAbandonedBatch"},
		{fault: "a batch is sent whose caller has left the queue", at: "internal/nodepool.Pool.abandon",
			by: never("p.queue.of"), tests: "./internal/nodepool TestLeavingTheQueue"},
	}},
	{"Close ends waits, and is bounded", []mutant{
		{fault: "a call that waits until it tries again outlives Close", at: "internal/engine.Client.wait",
			by: without("c.ctx.Done"), tests: "./cluster TestCloseEndsWaits"},
		{fault: "a node that has ended makes another pool", at: "internal/nodepool.Node.dedicatedPool",
			by: never("ended"), tests: "./internal/nodepool TestPoolsAreMadeWhenNeeded"},
	}},
}
