package main

// ofPool are protections in package nodepool.
var ofPool = []mutant{
	{
		"a batch is sent whose caller has left the queue", "internal/nodepool/pool.go",
		"\tif w, ok := p.waiters[b]; ok {", "\tif w, ok := p.waiters[b]; ok && w == nil {",
		"./internal/nodepool", "TestLeavingTheQueue", false,
	},
	{
		"calls wait for a dead node", "internal/nodepool/waiter.go",
		"case down != nil:", "case false:",
		"./internal/nodepool", "TestDeadServerFailsAtOnce", false,
	},
	{
		"a paused server is taken for a dead one", "internal/nodepool/doubt.go",
		"if err == nil || refusedHandshake(err) {", "if false {",
		"./internal/nodepool", "TestPausedServerIsNotStalled", false,
	},
	{
		"a stalled connection that ends late is why the next one ends", "internal/nodepool/breaker.go",
		"p.failures+1, m.stalled", "p.failures+1, time.Time{}",
		"./internal/nodepool", "TestOutlivedStall", false,
	},
	{
		"a connection that stalled keeps others from being replaced", "internal/nodepool/maintain.go",
		"\tp.retryLocked()\n", "",
		"./internal/nodepool", "TestRotationBehindAStall", false,
	},
	{
		"a dial that was lost in an outage is why a connection ends behind it", "internal/nodepool/breaker.go",
		"p.failures > 0 && !p.outlivedLocked() ||", "p.failures > 0 ||",
		"./internal/nodepool", "TestOutlivedDials", false,
	},
	{
		"a dial that was lost in an outage refuses callers when it is given up", "internal/nodepool/grow.go",
		"if p.dialing == 0 && !p.outlivedLocked() {", "if p.dialing == 0 {",
		"./internal/nodepool", "TestOutlivedDials", false,
	},
	{
		"a dial that was lost in an outage is the only one until it is given up", "internal/nodepool/grow.go",
		"p.failures > 0 && !p.outlivedLocked() ||", "p.failures > 0 ||",
		"./internal/nodepool", "TestDialsBesideALostOne", false,
	},
	{
		"a proof that was lost in an outage counts as a refusal", "internal/nodepool/breaker.go",
		"errors.Is(err, errNoAnswer) || ", "",
		"./internal/nodepool", "TestOutlivedProof", false,
	},
	{
		"a dial is no reason to dial again a server that has answered since and is suspect", "internal/nodepool/breaker.go",
		"p.heard.After(p.unheard) && p.watch.stage != suspect", "p.heard.After(p.unheard)",
		"./internal/nodepool", "TestOutlivedFailure", false,
	},
	{
		"a dial that failed when it was wanted is why a connection ends later", "internal/nodepool/grow.go",
		"if p.dialing == 0 && p.redial == nil && p.down.IsZero() {", "if false {",
		"./internal/nodepool", "TestFailedDialIsForgotten", false,
	},
	{
		"a lane that is taken away is cut", "internal/nodepool/shared.go",
		"a.leaveLocked(m, errIdle, false)", "a.leaveLocked(m, errIdle, true)",
		"./internal/nodepool", "TestLanesAreDrained", false,
	},
	{
		"a server that hangs up after the handshake is dialled without end", "internal/nodepool/early.go",
		"	return stillborn\n", "	return lived\n",
		"./internal/nodepool", "TestNoDialStorm", false,
	},
	{
		"a successful handshake is believed", "internal/nodepool/early.go",
		"return p.failures+p.early > 0", "return false",
		"./internal/nodepool", "TestNoDialStorm", false,
	},
	{
		"a failed proof waits for its connection to end", "internal/nodepool/early.go",
		"p.tasks.Go(func() { _ = lane.Close() })", "_ = lane.Close()",
		"./internal/nodepool", "TestFailedProofBeforeItsConnectionEnds", false,
	},
	{
		"who has subscribed waits for a connection that does not end", "internal/nodepool/stream.go",
		"go func() { ended <- s.Conn.Close() }()", "ended <- s.Conn.Close()",
		"./internal/nodepool", "TestStubbornStream", false,
	},
	{
		"who has subscribed waits longer than the context lasts where connections keep no deadlines", "internal/wire/deadlines.go",
		"!keepsDeadlines(conn) {", "!keepsDeadlines(conn) && false {",
		"./internal/nodepool", "TestStreamKeepsDeadlines", false,
	},
	{
		"a server that hangs up after a command is dialled without end", "internal/nodepool/early.go",
		"return p.early > sparedEarly", "return false",
		"./internal/nodepool", "TestNoDialStorm", false,
	},
	{
		"a connection that was being dialled outlives a renewal", "internal/nodepool/retire.go",
		"m.renewal != m.pool.renewals.number || m.refused()", "m.refused()",
		"./internal/nodepool", "TestOutdatedWhileDialled", false,
	},
	{
		"a connection that was being dialled is not asked about again", "internal/nodepool/retire.go",
		"m.renewal != m.pool.renewals.number || m.refused()", "m.renewal != m.pool.renewals.number",
		"./internal/nodepool", "TestOutdatedWhileDialled", false,
	},
	{
		"a server that was refused is dialled late although it is admitted now", "internal/nodepool/retire.go",
		"if p.redial != nil && errors.Is(p.lastErr, redislanes.ErrNotMember) {", "if false {",
		"./internal/nodepool", "TestAdmittedAtOnce", false,
	},
	{
		"connections are replaced each second for ever", "internal/nodepool/retire.go",
		"r.pause = min(2*r.pause, maxRenewPause)", "r.pause = minRenewPause",
		"./internal/nodepool", "TestRenewalsAreSpaced", false,
	},
	{
		"a batch is dispatched that was served while the strategy thought", "internal/nodepool/dispatch.go",
		"case c.waiter.place == nil:", "case false:",
		"./internal/nodepool", "TestStrategyTakesItsTime", false,
	},
	{
		"FailFast refuses callers while the only lane is replaced", "internal/nodepool/shared.go",
		"return a.size.open >= a.Max", "return len(a.members) >= a.Max",
		"./internal/nodepool", "TestMaxAge", false,
	},
	{
		"FailFast refuses callers while a connection that was used ends", "internal/nodepool/exclusive.go",
		"if a.size.open < a.Max && a.spareLocked() {", "if len(a.members) < a.Max {",
		"./internal/nodepool", "TestFailFastBesideOneThatLeaves", false,
	},
	{
		"FailFast refuses a caller that is back before its connection is", "internal/nodepool/exclusive.go",
		"m.state == busy && m.lane.InFlight() == 0 {\n\t\t\tfree++", "false && m.state == busy {\n\t\t\tfree++",
		"./internal/nodepool", "TestFailFastKnowsWhoIsBack", false,
	},
	{
		"a user's QUIT counts against the server", "internal/nodepool/lent.go",
		"\tm.spent = errUnclean\n", "",
		"./internal/nodepool", "TestQuitIsTheUsersDoing", false,
	},
	{
		"a dial without an answer is waited for while connections are lent", "internal/nodepool/stall.go",
		"return m.state != lent && m.lane.Err() == nil })", "return m.lane.Err() == nil })",
		"./internal/nodepool", "TestUnansweredDialBesideLentConnections", false,
	},
	{
		"a log that does not return holds up Close", "internal/nodepool/pool.go",
		"\tcase <-patience.C:\n", "",
		"./internal/nodepool", "TestStuckLog", false,
	},
	{
		"a caller waits for the log that is told of a panic", "internal/guard/guard.go",
		"j.Note(slog.LevelError,", "_ = slog.LevelError\n\t\tj.log.Error(",
		"./internal/nodepool", "TestStuckLogOfPanics", false,
	},
	{
		"a slow OnWait holds up the bytes of others", "internal/nodepool/monitor.go",
		"\tfor _, lane := range flushes {\n\t\tlane.Flush()\n\t}\n", "\tdefer func() {\n\t\tfor _, lane := range flushes {\n\t\t\tlane.Flush()\n\t\t}\n\t}()\n",
		"./internal/nodepool", "TestSlowOnWaitHoldsNobodyUp", false,
	},
	{
		"a closed connection is lent to the one who waits", "internal/nodepool/exclusive.go",
		"w.batch == nil && m.lane.Err() == nil", "w.batch == nil",
		"./internal/nodepool", "TestClosedConnectionIsNotLent", false,
	},
	{
		"a connection returned after Retire serves on", "internal/nodepool/retire.go",
		"m.spent = why", "",
		"./internal/nodepool", "TestReturnedAfterRetire", false,
	},
	{
		"a connection that closes before it is registered is not counted", "internal/nodepool/leave.go",
		"p.leftLocked(m, m.cause)", "p.members = p.members[:len(p.members)-1]",
		"./internal/nodepool", "TestClosedBeforeItJoined", false,
	},
	{
		"a pool shrinks by what it sees at the moment", "internal/nodepool/shared.go",
		"return a.load.TakePeak()", "return a.load.Now()",
		"./internal/nodepool", "TestBurstsBetweenLooks", false,
	},
	{
		"a connection counts as in use after its caller has the reply", "internal/nodepool/exclusive.go",
		"m.state == busy && m.lane.InFlight() > 0 {", "m.state == busy {",
		"./internal/nodepool", "TestLoadIsWhatIsInFlight", false,
	},
	{
		"a shrink leaves no room", "internal/nodepool/control.go",
		"return max(c.sized(c.peak), c.min)", "return max(1, c.peak/c.depth, c.min)",
		"./internal/nodepool", "TestControlDoesNotOscillate", false,
	},
	{
		"a pool shrinks because its server is down", "internal/nodepool/resize.go",
		"if !p.down.IsZero() {\n\t\tc.low = false\n\t\treturn\n\t}\n", "",
		"./internal/nodepool", "TestDownIsNoQuietTime", false,
	},
	{
		"idle connections are not looked after", "internal/nodepool/maintain.go",
		"case p.PingEvery > 0 && idle >= p.PingEvery:", "case false:",
		"./internal/nodepool", "TestIdleConnectionsArePinged", false,
	},
	{
		"lanes copy commands without bounds", "internal/nodepool/shared.go",
		"\tm.lane.SetMaxQueued(a.MaxQueued)\n", "",
		"./internal/nodepool", "TestLanesAreBoundedByBytes", false,
	},
	{
		"who is refused queues for the lock of those who are served", "internal/nodepool/shared.go",
		"case int(waiting) >= a.MaxWaiters:", "case false:",
		"./internal/nodepool", "TestRefusalTakesNoLock", false,
	},
	{
		"a connection with an unanswered PING is taken first", "internal/nodepool/exclusive.go",
		"for i > 0 && a.idle[i].lane.InFlight() > 0 {\n", "for false {\n",
		"./internal/nodepool", "TestUnansweredPingIsPassedOver", false,
	},
	{
		"a lost question stands in for the next one", "internal/nodepool/breaker.go",
		"\t\tp.question()\n", "",
		"./internal/nodepool", "TestEachSilenceIsAsked", false,
	},
	{
		"a lost question outlives the connection that was silent", "internal/nodepool/stall.go",
		"case p.watch.stage == answers && p.size.doubted == 0:\n\t\tp.withdrawLocked()", "case false:\n\t\tp.withdrawLocked()",
		"./internal/nodepool", "TestQuestionLeavesWithItsSilence", false,
	},
	{
		"the last bytes of a connection are not heard", "internal/nodepool/leave.go",
		"if m.lane.Progress() != m.progress {", "if false {",
		"./internal/nodepool", "TestLastBytesAreHeard", false,
	},
	{
		"PINGs take connections from callers", "internal/nodepool/exclusive.go",
		"const besidePing = 3", "const besidePing = 1",
		"./internal/nodepool", "TestPingsTakeNoConnection", false,
	},
	{
		"a dial without an answer is waited for while a connection ends", "internal/nodepool/stall.go",
		"m.state != lent && m.lane.Err() == nil })", "m.state != lent })",
		"./internal/nodepool", "TestUnansweredDialBesideEndingConnection", false,
	},
	{
		"a late reply to a user who has left says what is usual", "internal/nodepool/stall.go",
		"m.state != lent && m.lane.Err() == nil && (shortest == 0", "m.state != lent && (shortest == 0",
		"./internal/nodepool", "TestLateReplyToOneWhoLeftIsNoTrip", false,
	},
	{
		"a deadline that passes on a silent connection is not noticed", "internal/nodepool/pool.go",
		"\t\tp.missedLocked(b) ", "\t\t_ = b ",
		"./pool", "TestSilentDeathOfAllConnections", false,
	},
	{
		"silent connections hold their places", "internal/nodepool/grow.go",
		"replaced := p.replacedLocked()", "replaced := 0",
		"./pool", "TestSilentDeathOfAllConnections", false,
	},
	{
		"silent connections are replaced without bounds", "internal/nodepool/doubt.go",
		"< mostTimes*p.Max }", "< 100*p.max }",
		"./pool", "TestPauseIsBounded", false,
	},
	{
		"callers find out which connections died together", "internal/nodepool/doubt.go",
		"\t\to.setDoubtLocked()\n", "",
		"./pool", "TestNoMoreUnknownOutcomes", false,
	},
	{
		"callers are given silent lanes while the server is asked", "internal/nodepool/shared.go",
		"len(open) == 0 && a.question == nil", "len(open) == 0",
		"./pool", "TestNoMoreUnknownOutcomes", false,
	},
	{
		"FailFast waits for a connection that may not be opened", "internal/nodepool/exclusive.go",
		"if a.size.open < a.Max && a.spareLocked() {", "if a.size.open < a.Max {",
		"./pool", "TestFailFastWhileSilent", false,
	},
	{
		"silent lanes are chosen", "internal/nodepool/doubt.go",
		"m.silent >= p.watch.unusual() || m.missed", "false || m.missed",
		"./internal/nodepool", "TestSilentLanesAreAvoided", false,
	},
	{
		"a frozen server takes callers' deadlines until it counts as stalled", "internal/nodepool/watch.go",
		"w.stage, v.suspect = suspect, true", "w.unanswered = 0",
		"./internal/nodepool", "TestSilentServerIsSuspect", false,
	},
	{
		"callers wait for a dial that is not answered", "internal/nodepool/stall.go",
		"p.dialSilent += passed", "p.dialSilent = 0",
		"./internal/nodepool", "TestUnansweredDialIsSilence", false,
	},
	{
		"a suspicion outlives the first byte", "internal/nodepool/exclusive.go",
		"a.livesLocked(a.watch.heard())", "_ = a",
		"./internal/nodepool", "TestSilentServerIsSuspect", false,
	},
	{
		"a process takes its own freeze for the server's", "internal/nodepool/stall.go",
		"min(max(0, now.Sub(p.looked)), p.planned+p.lookEvery())", "now.Sub(p.looked)",
		"./internal/nodepool", "TestOwnFreezeIsNotTheServers", false,
	},
	{
		"a user that blocks counts as silence", "internal/nodepool/stall.go",
		"inFlight := m.state != lent && m.lane.InFlight() > 0 &&", "inFlight := m.lane.InFlight() > 0 &&",
		"./internal/nodepool", "TestBlockedUsersAreNotSilence", false,
	},
	{
		"a server that makes writers wait is asked all the time", "internal/nodepool/watch.go",
		"w.excused++", "w.excused = 0",
		"./internal/nodepool", "TestPausedServerIsNotSuspect", false,
	},
	{
		"the time of a dial counts as a round trip", "internal/nodepool/grow.go",
		"p.watch.dialled(steps.Handshake)", "p.watch.dialled(took)",
		"./internal/nodepool", "TestSlowDialIsNoSlowTrip", false,
	},
	{
		"a pause counts for each connection that it holds up", "internal/nodepool/stall.go",
		"shortest = trip\n", "p.watch.trip(trip)\n",
		"./internal/nodepool", "TestOnePauseIsNothingUsual", false,
	},
	{
		"a lent connection is returned twice", "internal/nodepool/lent.go",
		"if !again {", "if again || !again {",
		"./internal/nodepool", "TestReturnedConnectionIsInert", false,
	},
	{
		"a returned connection is still used", "internal/nodepool/lent.go",
		"\tif c.returned {\n\t\treturn wire.NotSent(c.Address(), redislanes.ErrReturned)\n\t}\n", "",
		"./internal/nodepool", "TestReturnedConnectionIsInert", false,
	},
	{
		"UNWATCH ends a transaction", "internal/nodepool/session.go",
		"\tcase s.multi && e != command.Watches:\n\t\treturn s, a == queued\n", "\tcase s.multi && e == command.Unwatches:\n\t\treturn session{}, true\n\tcase s.multi && e != command.Watches:\n\t\treturn s, a == queued\n",
		"./internal/nodepool", "TestLentComesBackCleanOrNotAtAll", false,
	},
	{
		"a connection with a command under way is lent again", "internal/nodepool/lent.go",
		"clean := c.trips == 0 && c.session.clean()", "clean := c.session.clean()",
		"./internal/nodepool", "TestReturnDuringACommand", false,
	},
	{
		"a reply that never came leaves a connection clean", "internal/nodepool/session.go",
		"done, refused := a == ran || a == null,", "done, refused := a == ran || a == null || a == none,",
		"./internal/nodepool", "TestReturnDuringACommand", false,
	},
	{
		"a WATCH whose reply is beyond the limits leaves a connection clean", "internal/nodepool/session.go",
		"\t\treturn beyond\n", "\t\treturn failed\n",
		"./internal/nodepool", "TestSession", false,
	},
	{
		"PINGs are load of a shared pool", "internal/nodepool/maintain.go",
		"\tb.Uncounted()\n", "",
		"./internal/nodepool", "TestPingsAreNoLoad", false,
	},
	{
		"a wrong password is told as the end of the last connection, and dialled again fast", "internal/nodepool/breaker.go",
		"err = p.lastErr //", "_ = p.lastErr //",
		"./internal/nodepool", "TestDownTellsWhyItCannotBeDialled", false,
	},
	{
		"a suspect server whose last connection is lost is never asked again", "internal/nodepool/breaker.go",
		"p.failures > 0 && !p.outlivedLocked() || p.watch.stage == suspect {", "p.failures > 0 && !p.outlivedLocked() {",
		"./internal/nodepool", "TestSuspectWithoutConnections", false,
	},
	{
		"bytes on what was lent and given back between two looks do not count", "internal/nodepool/lend.go",
		"if m.lane.Progress() != m.progress {", "if false {",
		"./internal/nodepool", "TestEachUnansweredDialIsNoticed", false,
	},
	{
		"each dial that is given up begins the silence anew", "internal/nodepool/stall.go",
		"dials := p.dialing > 0 || p.redial != nil && p.gaveUp", "dials := p.dialing > 0",
		"./internal/nodepool", "TestDialsThatTimeOutBesideLentConnections", false,
	},
	{
		"a pool of radix's Sentinel ends calls in flight when it is closed", "internal/nodepool/finish.go",
		"\tp.drainCalls()\n", "",
		"./pool", "TestCloseLetsCallsEnd|TestSentinelOfRadixFailsNoCall", false,
	},
	{
		"a call that chose a pool before it was closed is refused", "internal/nodepool/finish.go",
		"\tcase <-late.C:\n", "\tcase <-late.C:\n\tdefault:\n",
		"./pool", "TestCloseLetsCallsEnd", false,
	},
	{
		"Close waits for a call that blocks", "internal/nodepool/finish.go",
		"\t\tp.calls.Leave()\n", "\t\tp.calls.Stay()\n",
		"./pool", "TestCloseIsBounded", false,
	},
	{
		"the token of a connection that is in use expires", "internal/nodepool/maintain.go",
		"\tp.authenticateLocked(now)\n", "",
		"./cluster", "TestConnectionsOutliveTheirTokens", false,
	},
	{
		"the token of a connection that is never idle expires", "internal/nodepool/exclusive.go",
		"if m.readLoginLocked(); !m.sendLoginLocked() {", "if m.readLoginLocked(); false {",
		"./cluster", "TestBusyConnectionsOutliveTheirTokens", false,
	},
	{
		"a connection that was lent for long is sent a token that has expired", "internal/nodepool/login.go",
		"if time.Now().After(l.until) {", "if false {",
		"./cluster", "TestConnectionsOutliveTheirTokens", false,
	},
	{
		"each refusal of a token is logged", "internal/nodepool/login.go",
		"l.failures++; l.failures == 1 {", "l.failures++; l.failures >= 1 {",
		"./cluster", "TestReauthThatFails", false,
	},
	{
		"slow commands excuse a dial without an answer", "internal/nodepool/watch.go",
		"if w.unjoined {", "if false {",
		"./internal/nodepool", "TestDialIsJudgedByHandshakes", false,
	},
}
