package main

// deadlines are promises of deadlines, of callers that leave, and of Close.
var deadlines = []promise{
	{"a call ends at its deadline", []mutant{
		{fault: "1 callers wait behind a missing reply: no deadline of their own", at: "internal/wire.Call.sleep",
			by: without("own"), tests: "./internal/wire TestCallerLeavesASilentServerAtItsDeadline, ./internal/faults TestDeadlineAtEveryWait/full_lane"},
		{fault: "deadlines of any connection are relied on", at: "internal/wire.relayed",
			by: always("newSocket"), tests: "./internal/wire TestCallersLeaveConnectionsWithoutDeadlines, ./internal/nodepool TestStreamKeepsDeadlines"},
		{fault: "a dial waits for a function that does not end", at: "internal/wire.dialer.callNetDial",
			by: never("foreign"), tests: "./internal/wire TestDialEndsWithItsContext"},
		{fault: "a second look after the context's end misses a batch", at: "internal/wire.Call.Next",
			by: before("if err != nil { return false, err }", "pending"), tests: "./cluster TestSequentialDeadline"},
	}},
	{"a write has a deadline, and not that of another", []mutant{
		{fault: "the kernel waits for an acknowledgement for a quarter of an hour", at: "internal/wire.WithDefaults",
			by: without("limitUnacknowledged"), tests: "./internal/wire TestUnacknowledgedBytesAreLimited"},
		{fault: "a deadline that the connection made is waited for again and again", at: "internal/wire.relay.fail",
			by: drop("endError"), tests: "./internal/wire TestRelayEndsWithItsConnection"},
		{fault: "a write has the deadline of one that has waited", at: "internal/wire.Lane.writeBlocking",
			by: drop("SetWriteDeadline", "time.Time{}"), tests: "./internal/wire TestWriteDeadlineIsTakenBack"},
	}},
	{"a caller that leaves costs the others nothing", []mutant{
		{fault: "3 memory is written after the caller has left", at: "internal/wire.Lane.abandon",
			by: drop("abandoned"), tests: "-race ./internal/wire TestNothingWritesToAnAbandonedBatch"},
		{fault: "4 an expired context closes a healthy connection", at: "internal/wire.Lane.abandon",
			by: after("l.Fail(cause)", "Unlock"), tests: "./internal/wire TestNeighboursOfAnAbandonedBatch"},
		{fault: "a batch is sent whose caller has left the queue", at: "internal/nodepool.Pool.abandon",
			by: never("p.queue.of"), tests: "./internal/nodepool TestLeavingTheQueue"},
		{fault: "a goroutine's batch is used again though a lane still holds it", at: "internal/engine.flight.sendEach",
			by: never("ctx.Err"), tests: "./cluster TestGoroutinesDeadline"},
		{fault: "a trip that a goroutine sent is not judged", at: "internal/engine.Client.Exec",
			by: after("f.settled = f.used", "sendEach"), tests: "./cluster TestGoroutinesAreJudged"},
	}},
	{"Close ends waits, and is bounded", []mutant{
		{fault: "a call that waits until it tries again outlives Close", at: "internal/engine.Client.wait",
			by: without("c.ctx.Done"), tests: "./cluster TestCloseEndsWaits"},
		{fault: "closing waits for a connection that does not end", at: "internal/wire.relay.shut",
			by: after("r.once.Do(func() { _ = r.conn.Close() })", "r.Conn.Close"), tests: "./internal/wire TestStubbornConnectionsAreLeftBehind, ./cluster TestStubbornConnectionsHoldUpNobody"},
		{fault: "a log that does not return holds up Close", at: "internal/nodepool.Node.Close",
			by: without("C"), tests: "./internal/nodepool TestStuckLog"},
		{fault: "Close waits for a call that blocks", at: "internal/nodepool.server.letClose",
			by: instead("s.calls.Leave", "s.calls.Stay"), tests: "./pool TestCloseIsBounded"},
	}},
	{"Close lets calls in flight end", []mutant{
		{fault: "a pool of radix's Sentinel ends calls in flight when it is closed", at: "internal/nodepool.Node.CloseDrained",
			by: drop("drainCalls"), tests: "./pool TestCloseLetsCallsEnd|TestSentinelOfRadixFailsNoCall"},
		{fault: "a call that chose a pool before it was closed is refused", at: "internal/nodepool.lateCalls",
			by: value("0"), tests: "./pool TestCloseLetsCallsEnd"},
		{fault: "a node that has ended makes another pool", at: "internal/nodepool.Node.pool",
			by: never("ended"), tests: "./internal/nodepool TestPoolsAreMadeWhenNeeded"},
	}},
}
