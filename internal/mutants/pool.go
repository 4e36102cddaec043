package main

// ofPool are protections in package pool.
var ofPool = []mutant{
	{
		"a batch is sent whose caller has left the queue", "pool/pool.go",
		"\tif w, ok := p.waiters[b]; ok {", "\tif w, ok := p.waiters[b]; ok && w == nil {",
		"./pool", "TestLeavingTheQueue", false,
	},
	{
		"calls wait for a dead node", "pool/waiter.go",
		"case down != nil:", "case false:",
		"./pool", "TestDeadServerFailsAtOnce", false,
	},
	{
		"a paused server is taken for a dead one", "pool/stall.go",
		"if err == nil || refusedHandshake(err) {", "if false {",
		"./pool", "TestPausedServerIsNotStalled", false,
	},
	{
		"a lane that is taken away is cut", "pool/resize.go",
		"p.leaveLocked(m, errIdle, false)\n\t\t\tsurplus--", "p.leaveLocked(m, errIdle, true)\n\t\t\tsurplus--",
		"./pool", "TestLanesAreDrained", false,
	},
	{
		"a server that hangs up after the handshake is dialled without end", "pool/early.go",
		"	return stillborn\n", "	return lived\n",
		"./pool", "TestNoDialStorm", false,
	},
	{
		"a successful handshake is believed", "pool/early.go",
		"return p.failures+p.early > 0", "return false",
		"./pool", "TestNoDialStorm", false,
	},
	{
		"a server that hangs up after a command is dialled without end", "pool/early.go",
		"return p.early > sparedEarly", "return false",
		"./pool", "TestNoDialStorm", false,
	},
	{
		"connections are replaced each second for ever", "pool/retire.go",
		"r.pause = min(2*r.pause, maxRenewPause)", "r.pause = renewAge",
		"./pool", "TestRenewalsAreSpaced", false,
	},
	{
		"a batch is dispatched that was served while the strategy thought", "pool/dispatch.go",
		"case c.waiter.place == nil:", "case false:",
		"./pool", "TestStrategyTakesItsTime", false,
	},
	{
		"FailFast refuses a caller that is back before its connection is", "pool/waiter.go",
		"m.state == busy && m.lane.InFlight() == 0 {\n\t\t\tfree++", "false && m.state == busy {\n\t\t\tfree++",
		"./pool", "TestFailFastKnowsWhoIsBack", false,
	},
	{
		"a user's QUIT counts against the server", "pool/lent.go",
		"\tm.spent = errUnclean\n", "",
		"./pool", "TestQuitIsTheUsersDoing", false,
	},
	{
		"a dial without an answer is waited for while connections are lent", "pool/stall.go",
		"return m.state != lent })", "return true })",
		"./pool", "TestUnansweredDialBesideLentConnections", false,
	},
	{
		"a log that does not return holds up Close", "pool/pool.go",
		"\tcase <-patience.C:\n", "",
		"./pool", "TestStuckLog", false,
	},
	{
		"a slow OnWait holds up the bytes of others", "pool/waiter.go",
		"\tfor _, lane := range flushes {\n\t\tlane.Flush()\n\t}\n", "\tdefer func() {\n\t\tfor _, lane := range flushes {\n\t\t\tlane.Flush()\n\t\t}\n\t}()\n",
		"./pool", "TestSlowOnWaitHoldsNobodyUp", false,
	},
	{
		"a closed connection is lent to the one who waits", "pool/waiter.go",
		"w.batch == nil && m.lane.Err() == nil", "w.batch == nil",
		"./pool", "TestClosedConnectionIsNotLent", false,
	},
	{
		"a connection returned after Retire serves on", "pool/retire.go",
		"m.spent = why", "",
		"./pool", "TestReturnedAfterRetire", false,
	},
	{
		"a connection that closes before it is registered is not counted", "pool/leave.go",
		"p.leftLocked(m, m.cause)", "p.members = p.members[:len(p.members)-1]",
		"./pool", "TestClosedBeforeItJoined", false,
	},
	{
		"a pool shrinks by what it sees at the moment", "pool/resize.go",
		"s.load = max(s.load, p.flying.TakePeak())", "s.load = p.flying.Now()",
		"./pool", "TestBurstsBetweenLooks", false,
	},
	{
		"a connection counts as in use after its caller has the reply", "pool/resize.go",
		"m.state == busy && m.lane.InFlight() > 0 {", "m.state == busy {",
		"./pool", "TestLoadIsWhatIsInFlight", false,
	},
	{
		"a shrink leaves no room", "pool/control.go",
		"return max(c.sized(c.peak), c.min)", "return max(1, c.peak/c.depth, c.min)",
		"./pool", "TestControlDoesNotOscillate", false,
	},
	{
		"a pool shrinks because its server is down", "pool/resize.go",
		"if !p.down.IsZero() {\n\t\tc.low = false\n\t\treturn\n\t}\n", "",
		"./pool", "TestDownIsNoQuietTime", false,
	},
	{
		"idle connections are not looked after", "pool/maintain.go",
		"case p.PingEvery > 0 && idle >= p.PingEvery:", "case false:",
		"./pool", "TestIdleConnectionsArePinged", false,
	},
	{
		"lanes copy commands without bounds", "pool/leave.go",
		"\t\tlane.SetMaxQueued(p.maxQueued)\n", "",
		"./pool", "TestLanesAreBoundedByBytes", false,
	},
	{
		"who is refused queues for the lock of those who are served", "pool/pool.go",
		"case int(waiting) >= p.MaxWaiters:", "case false:",
		"./pool", "TestRefusalTakesNoLock", false,
	},
	{
		"a connection with an unanswered PING is taken first", "pool/pool.go",
		"for i > 0 && p.idle[i].lane.InFlight() > 0 {\n", "for false {\n",
		"./pool", "TestUnansweredPingIsPassedOver", false,
	},
	{
		"a lost question stands in for the next one", "pool/breaker.go",
		"\t\tp.question()\n", "",
		"./pool", "TestEachSilenceIsAsked", false,
	},
	{
		"PINGs take connections from callers", "pool/maintain.go",
		"const besidePing = 2", "const besidePing = 1",
		"./pool", "TestPingsTakeNoConnection", false,
	},
	{
		"silent lanes are chosen", "pool/stall.go",
		"silent := m.state == shared &&", "silent := false &&",
		"./pool", "TestSilentLanesAreAvoided", false,
	},
	{
		"a frozen server takes callers' deadlines until it counts as stalled", "pool/watch.go",
		"w.stage, v.suspect = suspect, true", "w.unanswered = 0",
		"./pool", "TestSilentServerIsSuspect", false,
	},
	{
		"callers wait for a dial that is not answered", "pool/stall.go",
		"p.dialSilent += passed", "p.dialSilent = 0",
		"./pool", "TestUnansweredDialIsSilence", false,
	},
	{
		"a suspicion outlives the first byte", "pool/pool.go",
		"p.livesLocked(p.watch.heard())", "_ = p",
		"./pool", "TestSilentServerIsSuspect", false,
	},
	{
		"a process takes its own freeze for the server's", "pool/stall.go",
		"min(max(0, now.Sub(p.looked)), p.planned+p.lookEvery())", "now.Sub(p.looked)",
		"./pool", "TestOwnFreezeIsNotTheServers", false,
	},
	{
		"a user that blocks counts as silence", "pool/stall.go",
		"inFlight := m.state != lent && m.lane.InFlight() > 0", "inFlight := m.lane.InFlight() > 0",
		"./pool", "TestBlockedUsersAreNotSilence", false,
	},
	{
		"a server that makes writers wait is asked all the time", "pool/watch.go",
		"w.excused++", "w.excused = 0",
		"./pool", "TestPausedServerIsNotSuspect", false,
	},
	{
		"a lent connection is returned twice", "pool/lent.go",
		"if !again {", "if again || !again {",
		"./pool", "TestReturnedConnectionIsInert", false,
	},
	{
		"a returned connection is still used", "pool/lent.go",
		"\tif c.returned {\n\t\treturn wire.NotSent(c.Address(), redislanes.ErrReturned)\n\t}\n", "",
		"./pool", "TestReturnedConnectionIsInert", false,
	},
	{
		"UNWATCH ends a transaction", "pool/session.go",
		"\tcase s.multi && e != command.Watches:\n\t\treturn s, a == queued\n", "\tcase s.multi && e == command.Unwatches:\n\t\treturn session{}, true\n\tcase s.multi && e != command.Watches:\n\t\treturn s, a == queued\n",
		"./pool", "TestLentComesBackCleanOrNotAtAll", false,
	},
	{
		"a connection with a command under way is lent again", "pool/lent.go",
		"clean := c.trips == 0 && c.session.clean()", "clean := c.session.clean()",
		"./pool", "TestReturnDuringACommand", false,
	},
	{
		"a reply that never came leaves a connection clean", "pool/session.go",
		"done := a == ran || a == null", "done := a == ran || a == null || a == none",
		"./pool", "TestReturnDuringACommand", false,
	},
	{
		"PINGs are load of a shared pool", "pool/maintain.go",
		"\tb.Uncounted()\n", "",
		"./pool", "TestPingsAreNoLoad", false,
	},
	{
		"a wrong password is told as the end of the last connection, and dialled again fast", "pool/breaker.go",
		"err = p.lastErr //", "_ = p.lastErr //",
		"./pool", "TestDownTellsWhyItCannotBeDialled", false,
	},
	{
		"a suspect server whose last connection is lost is never asked again", "pool/breaker.go",
		"p.failures > 0 || p.watch.stage == suspect {", "p.failures > 0 {",
		"./pool", "TestSuspectWithoutConnections", false,
	},
}
