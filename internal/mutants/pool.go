package main

// ofPool are protections in package nodepool.
var ofPool = []quotation{
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
		"what was asked before the server was heard is held against it", "internal/health/failure.go",
		"f.Asked >= heard", "true",
		"./internal/nodepool", "TestOutlivedDials|TestDialsBesideALostOne|TestOutlivedProof|TestOutlivedStall|TestRotationBehindAStall", false,
	},
	{
		"a proof that was lost in an outage counts as a refusal", "internal/nodepool/breaker.go",
		"errors.Is(err, errNoAnswer) || ", "",
		"./internal/nodepool", "TestOutlivedProof", false,
	},
	{
		"a dial that failed when it was wanted is why a connection ends later", "internal/nodepool/grow.go",
		"\t\tp.health.Unwanted()\n", "",
		"./internal/nodepool", "TestFailedDialIsForgotten", false,
	},
	{
		"a lane that is taken away is cut", "internal/nodepool/shared.go",
		"a.leaveLocked(m, errIdle, false)", "a.leaveLocked(m, errIdle, true)",
		"./internal/nodepool", "TestLanesAreDrained", false,
	},
	{
		"a server that hangs up after the handshake is dialled without end", "internal/health/failure.go",
		"\treturn Stillborn\n", "\treturn Lived\n",
		"./internal/nodepool", "TestNoDialStorm", false,
	},
	{
		"a successful handshake is believed", "internal/health/failure.go",
		"return s.failures+s.young > 0", "return false",
		"./internal/nodepool", "TestNoDialStorm", false,
	},
	{
		"a failed proof waits for its connection to end", "internal/nodepool/doubt.go",
		"p.tasks.Go(func() { _ = lane.Close() })", "_ = lane.Close()",
		"./internal/nodepool", "TestFailedProofBeforeItsConnectionEnds", false,
	},
	{
		"who has subscribed waits longer than the context lasts where connections keep no deadlines", "internal/wire/relay.go",
		"if newSocket(conn) != nil {", "if true {",
		"./internal/nodepool", "TestStreamKeepsDeadlines", false,
	},
	{
		"a server that hangs up after a command is dialled without end", "internal/health/failure.go",
		"return s.young > SparedYoung", "return false",
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
		"if p.redial != nil && errors.Is(p.health.Failure().Err, redislanes.ErrNotMember) {", "if false {",
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
		"FailFast refuses callers while a connection or the only lane is replaced", "internal/nodepool/waiter.go",
		"if p.size.open < p.Max && p.spareLocked() {", "if len(p.members) < p.Max {",
		"./internal/nodepool", "TestFailFastBesideOneThatLeaves|TestMaxAge", false,
	},
	{
		"FailFast refuses a caller that is back before its connection is", "internal/nodepool/waiter.go",
		"m.state == busy && m.lane.InFlight() == 0 {\n\t\t\tfree++", "false && m.state == busy {\n\t\t\tfree++",
		"./internal/nodepool", "TestFailFastKnowsWhoIsBack", false,
	},
	{
		"a user's QUIT counts against the server", "internal/nodepool/lent.go",
		"\tm.spent = errUnclean\n", "",
		"./internal/nodepool", "TestQuitIsTheUsersDoing", false,
	},
	{
		"a dial without an answer is waited for while connections are lent", "internal/nodepool/maintain.go",
		"return m.state != lent && m.lane.Err() == nil })", "return m.lane.Err() == nil })",
		"./internal/nodepool", "TestUnansweredDialBesideLentConnections", false,
	},
	{
		"a log that does not return holds up Close", "internal/nodepool/node.go",
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
		"a pool shrinks by what it sees at the moment", "internal/nodepool/resize.go",
		"p.load.TakePeak())", "p.load.Now())",
		"./internal/nodepool", "TestBurstsBetweenLooks", false,
	},
	{
		"a connection counts as in use after its caller has the reply", "internal/nodepool/resize.go",
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
		"if p.health.State() == health.Down {\n\t\tc.low = false", "if p.health.State() == 99 {\n\t\tc.low = false",
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
		"a lost question stands in for the next one", "internal/nodepool/doubt.go",
		"\t\tp.question()\n", "",
		"./internal/nodepool", "TestEachSilenceIsAsked", false,
	},
	{
		"a lost question outlives the connection that was silent", "internal/nodepool/maintain.go",
		"case p.health.Answers() && p.size.doubted == 0:\n\t\tp.withdrawLocked()", "case false:\n\t\tp.withdrawLocked()",
		"./internal/nodepool", "TestQuestionLeavesWithItsSilence", false,
	},
	{
		"the last bytes of a connection are not heard", "internal/nodepool/leave.go",
		"if m.health.Stirred(m.lane.Progress()) {", "if false {",
		"./internal/nodepool", "TestLastBytesAreHeard", false,
	},
	{
		"PINGs take connections from callers", "internal/nodepool/exclusive.go",
		"const besidePing = 3", "const besidePing = 1",
		"./internal/nodepool", "TestPingsTakeNoConnection", false,
	},
	{
		"a dial without an answer is waited for while a connection ends", "internal/nodepool/maintain.go",
		"m.state != lent && m.lane.Err() == nil })", "m.state != lent })",
		"./internal/nodepool", "TestUnansweredDialBesideEndingConnection", false,
	},
	{
		"a late reply to a user who has left says what is usual", "internal/health/look.go",
		"saw.Trip > 0 && !saw.Ended &&", "saw.Trip > 0 &&",
		"./internal/nodepool", "TestLateReplyToOneWhoLeftIsNoTrip", false,
	},
	{
		"a deadline that passes on a silent connection is not noticed", "internal/nodepool/pool.go",
		"\tp.missedLocked(b)\n", "",
		"./pool", "TestSilentDeathOfAllConnections", false,
	},
	{
		"silent connections hold their places", "internal/nodepool/grow.go",
		"replaced := p.replacedLocked()", "replaced := 0",
		"./pool", "TestSilentDeathOfAllConnections", false,
	},
	{
		"silent connections are replaced without bounds", "internal/nodepool/doubt.go",
		"< health.MostTimes*p.Max }", "< 50*health.MostTimes*p.Max }",
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
		"FailFast waits for a connection that may not be opened", "internal/nodepool/waiter.go",
		"if p.size.open < p.Max && p.spareLocked() {", "if p.size.open < p.Max {",
		"./pool", "TestFailFastWhileSilent", false,
	},
	{
		"silent lanes are chosen", "internal/health/look.go",
		"silence >= s.unusual() || c.missed", "c.missed",
		"./internal/nodepool", "TestSilentLanesAreAvoided", false,
	},
	{
		"a frozen server takes callers' deadlines until it counts as stalled", "internal/health/look.go",
		", since >= s.unusual():", ", s.state == Suspect && since >= s.unusual():",
		"./internal/nodepool", "TestSilentServerIsSuspect", false,
	},
	{
		"callers wait for a dial that is not answered", "internal/health/look.go",
		"case s.dial == 0 && waited:", "case s.dial == 0 && false:",
		"./internal/nodepool", "TestUnansweredDialIsSilence", false,
	},
	{
		"a suspicion outlives the first byte", "internal/nodepool/exclusive.go",
		"a.health.Heard(time.Now())\n\t\ta.livesLocked()", "_ = time.Now()",
		"./internal/nodepool", "TestSilentServerIsSuspect", false,
	},
	{
		"a process takes its own freeze for the server's", "internal/health/server.go",
		"min(max(0, now.Sub(c.looked)), c.planned+slack)", "now.Sub(c.looked)",
		"./internal/nodepool", "TestOwnFreezeIsNotTheServers", false,
	},
	{
		"a user that blocks counts as silence", "internal/nodepool/maintain.go",
		"\tif m.state == lent {\n\t\tsaw.Trip", "\tif false {\n\t\tsaw.Trip",
		"./internal/nodepool", "TestBlockedUsersAreNotSilence", false,
	},
	{
		"a server that makes writers wait is asked all the time", "internal/health/server.go",
		"s.excused++", "s.excused = 0",
		"./internal/nodepool", "TestPausedServerIsNotSuspect", false,
	},
	{
		"the time of a dial counts as a round trip", "internal/nodepool/grow.go",
		"p.health.Dialled(time.Now(), steps.Handshake)", "p.health.Dialled(time.Now(), took)",
		"./internal/nodepool", "TestSlowDialIsNoSlowTrip", false,
	},
	{
		"a pause counts for each connection that it holds up", "internal/health/look.go",
		"l.trip = saw.Trip\n", "s.Trip(saw.Trip)\n",
		"./internal/nodepool", "TestOnePauseIsNothingUsual", false,
	},
	{
		"a lent connection is returned twice", "internal/nodepool/lent.go",
		"if !again {", "if again || !again {",
		"./internal/nodepool", "TestReturnedConnectionIsInert", false,
	},
	{
		"a returned connection is still used", "internal/nodepool/lent.go",
		"\tif c.returned {\n\t\treturn wire.NotSent(c.Address(), cause.ErrReturned)\n\t}\n", "",
		"./internal/nodepool", "TestReturnedConnectionIsInert", false,
	},
	{
		"MULTI leaves a connection as it was", "internal/nodepool/lent.go",
		"u.open, u.multi = true, u.multi || done", "u.multi = u.multi || done",
		"./internal/nodepool", "TestLentComesBackCleanOrNotAtAll", false,
	},
	{
		"a connection with a command under way is lent again", "internal/nodepool/lent.go",
		"case c.trips > 0:", "case c.trips > 1:",
		"./internal/nodepool", "TestReturnDuringACommand", false,
	},
	{
		"a reply that never came leaves a connection clean", "internal/nodepool/lent.go",
		"case reply == nil || !sent.Known():", "case !sent.Known():",
		"./internal/nodepool", "TestReturnDuringACommand", false,
	},
	{
		"an EXEC that failed ends a transaction", "internal/nodepool/lent.go",
		" && (done || resp.IsExecAbort(reply)):", ":",
		"./internal/nodepool", "TestUsage", false,
	},
	{
		"a connection is not restored", "internal/nodepool/lend.go",
		"if left == clean || !m.restoreLocked() {", "if true {",
		"./internal/nodepool", "TestLentComesBackCleanOrNotAtAll", false,
	},
	{
		"a connection that was not restored is lent again", "internal/nodepool/exclusive.go",
		"if m.restore = nil; !r.Restored() {", "if m.restore = nil; false {",
		"./internal/nodepool", "TestRestore", false,
	},
	{
		"a connection is restored with the credentials of nobody", "internal/wire/dial.go",
		"func (d *dialer) open(ctx", "func (d dialer) open(ctx",
		"./internal/nodepool", "TestRestore", false,
	},
	{
		"PINGs are load of a shared pool", "internal/nodepool/maintain.go",
		"\tb.Uncounted()\n", "",
		"./internal/nodepool", "TestPingsAreNoLoad", false,
	},
	{
		"a wrong password is told as the end of the last connection, and dialled again fast", "internal/health/failure.go",
		"err = s.failure.Err //", "_ = s.failure.Err //",
		"./internal/nodepool", "TestDownTellsWhyItCannotBeDialled", false,
	},
	{
		"a suspect server whose last connection is lost is never asked again", "internal/health/failure.go",
		"return s.state != Up || s.failures > 0", "return s.state == Down || s.failures > 0",
		"./internal/nodepool", "TestSuspectWithoutConnections", false,
	},
	{
		"bytes on what was lent and given back between two looks do not count", "internal/nodepool/lend.go",
		"if m.health.Stirred(m.lane.Progress()) {", "if false {",
		"./internal/nodepool", "TestEachUnansweredDialIsNoticed", false,
	},
	{
		"each dial that is given up begins the silence anew", "internal/nodepool/maintain.go",
		"p.dialing > 0 || p.redial != nil && p.health.GaveUp()", "p.dialing > 0",
		"./internal/nodepool", "TestDialsThatTimeOutBesideLentConnections", false,
	},
	{
		"a pool of radix's Sentinel ends calls in flight when it is closed", "internal/nodepool/finish.go",
		"\tn.drainCalls()\n", "",
		"./pool", "TestCloseLetsCallsEnd|TestSentinelOfRadixFailsNoCall", false,
	},
	{
		"a call that chose a pool before it was closed is refused", "internal/nodepool/finish.go",
		"\tcase <-late.C:\n", "\tcase <-late.C:\n\tdefault:\n",
		"./pool", "TestCloseLetsCallsEnd", false,
	},
	{
		"Close waits for a call that blocks", "internal/nodepool/finish.go",
		"\t\ts.calls.Leave()\n", "\t\ts.calls.Stay()\n",
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
		"a node that has ended makes another pool", "internal/nodepool/node.go",
		"\tcase n.ended != nil:\n", "\tcase false:\n",
		"./internal/nodepool", "TestPoolsAreMadeWhenNeeded", false,
	},
	{
		"slow commands excuse a dial without an answer", "internal/health/trips.go",
		"if s.dial != 0 {", "if false {",
		"./internal/health", "TestHistories", false,
	},
}
