package main

// mutants begins with the faults of other clients in the order of docs/faults.md.
var mutants = []mutant{
	{
		"1 callers wait behind a missing reply: no stall watchdog", "pool/stall.go",
		"if m.state != lent && (v.stalled ||", "if m == nil && (v.stalled ||",
		"./pool", "TestStalledServerIsGivenUp", false,
	},
	{
		"1 callers wait behind a missing reply: no deadline of their own", "lanes/batch.go",
		"case <-ctx.Done():\n\t\treturn ctx.Err()", "case <-make(chan struct{}):\n\t\treturn nil",
		"./lanes", "TestCallerLeavesASilentServerAtItsDeadline", false,
	},
	{
		"2 the pool's lock is held over a round trip", "pool/pool.go",
		"m.becomeLocked(busy)\n\t\t\tp.unlock()\n\t\t\tp.attend()\n\t\t\treturn true",
		"m.becomeLocked(busy)\n\t\t\tlanes.Flush([]*lanes.Batch{b})\n\t\t\tb.Read(context.Background())\n\t\t\tfor m.lane.InFlight() > 0 && m.lane.Err() == nil {\n\t\t\t\ttime.Sleep(time.Millisecond)\n\t\t\t}\n\t\t\tp.unlock()\n\t\t\treturn true",
		"./pool", "TestSlowCommandsHoldNobodyUp", false,
	},
	{
		"3 memory is written after the caller has left", "lanes/lane.go",
		"b.abandoned = true\n", "",
		"./lanes", "TestNothingWritesToAnAbandonedBatch", true,
	},
	{
		"4 an expired context closes a healthy connection", "lanes/lane.go",
		"\tif b.flush { // the caller left before it wrote", "\tl.Fail(cause)\n\tif b.flush { // the caller left before it wrote",
		"./lanes", "TestNeighboursOfAnAbandonedBatch", false,
	},
	{
		"5 a refused command takes the others with it once more", "cluster/retry.go",
		"\tx.keepOrder(commands)\n", "\tif slices.Contains(x.steps, toRetry) {\n\t\tfor k := range x.steps {\n\t\t\tx.steps[k] = toRetry\n\t\t}\n\t}\n",
		"./cluster", "TestRefusedForNow", false,
	},
	{
		"6 a negative length is believed", "internal/resp/framer.go",
		"\t\treturn false, fmt.Errorf(\"%w: length -%d behind %q\", ErrProtocol, f.num, f.cur)\n", "",
		"./cluster", "TestHostileServer", false,
	},
	{
		"6 a huge bulk string is believed", "internal/resp/framer.go",
		"if f.num > f.limits.Bulk {", "if false {",
		"./internal/resp", "TestFramerRefuses", false,
	},
	{
		"6 a huge array is believed", "internal/resp/framer.go",
		"if f.num > f.limits.Elements || n > f.limits.Elements {", "if false {",
		"./internal/resp", "TestFramerRefuses", false,
	},
	{
		"7 one dead seed fails the start and refreshes", "cluster/refresh.go",
		"failed.Causes = append(failed.Causes, AddrError{a.addr, a.err})", "return answer{}, a.err",
		"./cluster", "TestDeadSeeds", false,
	},
	{
		"7 an unknown endpoint is dialled as :port", "cluster/parse.go",
		"\t\th = asked\n", "",
		"./cluster", "TestUnknownEndpoints", false,
	},
	{
		"8 MOVED and ASK reach the caller", "cluster/verdict.go",
		"return x.follow(i, to)\n", "return stands\n",
		"./cluster", "TestRadixPipelineFollowsRedirects", false,
	},
	{
		"8 errors of the server show arguments", "internal/resp/redact.go",
		"func Redact(msg string) string {\n", "func Redact(msg string) string {\n\tif msg != \"\" {\n\t\treturn msg\n\t}\n",
		"./cluster", "TestCanaryInServerErrors", false,
	},
	{
		"8 errors of a pipeline show its commands", "lanes/conn.go",
		"return withoutValues(err, &DecodeError{Into: \"what a radix.Pipeline holds\"})", "return err",
		"./cluster", "TestCanaryInTrouble", false,
	},
	{
		"9 a command whose reply was lost is sent again (go-redis)", "cluster/verdict.go",
		"if x.request.marks[i]&markRepeatable == 0 {", "if false {",
		"./pipeline", "TestCutAtEveryOffset", false,
	},
	{
		"9 unknown outcomes are reported as not sent", "lanes/batch.go",
		"if i < b.handed {", "if false {",
		"./pipeline", "TestCutAtEveryOffset", false,
	},
	{
		"10 a full lane lets callers overrun their deadlines (rueidis)", "lanes/batch.go",
		"case <-ctx.Done():\n\t\treturn ctx.Err()", "case <-make(chan struct{}):\n\t\treturn nil",
		"./internal/faults", "TestDeadlineAtEveryWait/full_lane", false,
	},
	{
		"10 a command refused with LOADING is not sent again (rueidis)", "cluster/redirect.go",
		"case \"CLUSTERDOWN\", \"LOADING\", \"MASTERDOWN\":", "case \"CLUSTERDOWN\", \"MASTERDOWN\":",
		"./cluster", "TestRefusedForNow/LOADING", false,
	},
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
		"a call that ends leaves its key without a time to live", "pipeline/flight.go",
		"if f.outcome.owes && f.ttl > 0 {", "if false {",
		"./pipeline", "TestDebtsArePaid", false,
	},
	{
		"a script in place of EXPIRE NX does not follow its INCRBY", "pipeline/count.go",
		"p.request.Expiry(i) // also if it is a script", "_ = i",
		"./pipeline", "TestScriptFollowsItsCounter", false,
	},
	{
		"hits that the server refused are counted one by one", "pipeline/count.go",
		"overflows(f.outcome.err)", "f.outcome.err != nil",
		"./pipeline", "TestRefusedFlight", false,
	},
	{
		"parts of a flight that overflows have no EXPIRE", "pipeline/count.go",
		"c.append(p, f.lineup.key, m.by, m.ttl)", "c.append(p, f.lineup.key, m.by, 0)",
		"./pipeline", "TestPartsExpire", false,
	},
	{
		"an EXPIRE whose outcome is unknown is not repeated", "pipeline/count.go",
		"p.ExpireNX(key, ttl).Idempotent()", "p.ExpireNX(key, ttl)",
		"./pipeline", "TestCutHitExpires", false,
	},
	{
		"a hit without a TTL gets another one's error of EXPIRE", "pipeline/count.go",
		"case m.ttl > 0:", "default:",
		"./pipeline", "TestOnlyExpireFails", false,
	},
	{
		"a hit that was taken back leaves its TTL", "pipeline/flight.go",
		"\tif f.shed {\n", "\tif false {\n",
		"./pipeline", "TestTakenBackWithItsTTL", false,
	},
	{
		"a panic that the caller recovers leaves its key out", "pipeline/carrier.go",
		"\tdefer func() {\n\t\tnext := c.carriers", "\tdefer func() {\n\t\tif e := recover(); e != nil {\n\t\t\tpanic(e)\n\t\t}\n\t\tnext := c.carriers",
		"./pipeline", "TestPanicBelowHit", false,
	},
	{
		"a carrier's keys wait for each other's nodes", "pipeline/carrier.go",
		"c.flyAlone(c.split(flights, true), true)", "c.flyAlone(flights, true)",
		"./pipeline", "TestCarriedByNode", false,
	},
	{
		"carriers wait for hits on others' keys", "pipeline/lineup.go",
		"l.carrier.gathered.Add(1)", "for _, s := range c.shards {\n\t\t\t\t\tfor _, l := range s.out {\n\t\t\t\t\t\tif l.carrier != nil {\n\t\t\t\t\t\t\tl.carrier.gathered.Add(1)\n\t\t\t\t\t\t}\n\t\t\t\t\t}\n\t\t\t\t}",
		"./pipeline", "TestLetGather", false,
	},
	{
		"shards keep the memory of a burst", "pipeline/lineup.go",
		"\ts.shrinkLocked()\n", "",
		"./pipeline", "TestShardsShrink", false,
	},
	{
		"a command is appended to a pipeline that was done", "pipeline/pipeline.go",
		"\tif p.state != appending {\n\t\treturn p.refuse(\"INCRBY\", p.unfit())\n\t}\n", "",
		"./pipeline", "TestAppendAfterDo", false,
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
		"a panic of a user's function ends the process", "internal/guard/guard.go",
		"if v := recover(); v != nil {", "if v := any(nil); v != nil {",
		"./pool", "TestPanickingCallbacks", false,
	},
	{
		"a batch is dispatched that was served while the strategy thought", "pool/waiter.go",
		"if p.queue.Front() != e {", "if false {",
		"./pool", "TestStrategyTakesItsTime", false,
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
		"a storm of refreshes", "cluster/pace.go",
		"refreshSpacing = 500 * time.Millisecond", "refreshSpacing = time.Millisecond",
		"./cluster", "TestNoRefreshStorm", false,
	},
	{
		"a node that leaves takes commands with it", "cluster/client.go",
		"\tn.retire()\n", "\tif n != nil {\n\t\treturn\n\t}\n",
		"./cluster", "TestLeavingNodesFailNoCall", false,
	},
	{
		"a key lives for ever after a refused INCRBY", "cluster/order.go",
		"if steps[k] == ran {", "if false {",
		"./cluster", "TestExpiryFollowsItsCounter", false,
	},
	{
		"a standalone server that answers sooner takes the slots", "cluster/judge.go",
		"return another // it has other data", "return noDoubt",
		"./cluster", "TestSlowStandaloneServerStays", false,
	},
	{
		"a redirect for another slot is followed", "cluster/verdict.go",
		"x.how.noFollow || slot != int32(to.slot) || a.hops", "x.how.noFollow || a.hops",
		"./cluster", "TestRedirectForAnotherSlot", false,
	},
	{
		"addresses that a server invents are remembered without end", "cluster/client.go",
		"if c.strangers == maxStrangers {", "if false {",
		"./cluster", "TestRedirectsToEverNewAddresses", false,
	},
	{
		"fast commands queue behind slow ones", "cluster/exec.go",
		"if r.slow > 0 && c.slowLanes {", "if false {",
		"./cluster", "TestFastPassesSlow", false,
	},
	{
		"small requests queue behind large ones", "cluster/exec.go",
		"if t.Len() >= largeTrip {", "if false {",
		"./cluster", "TestLargeTripsTravelSlow", false,
	},
	{
		"bytes are written behind a hole in the stream", "lanes/write.go",
		"\tfirst := l.failLocked(err)\n\tl.mu.Unlock()\n\tl.end(first)\n", "\tl.mu.Unlock()\n\tl.Fail(err)\n",
		"./lanes", "TestNothingIsWrittenBehindAHole", false,
	},
	{
		"deadlines of any connection are relied on", "lanes/close.go",
		"\treturn false\n}\n\n// Drain", "\treturn true\n}\n\n// Drain",
		"./lanes", "TestCallersLeaveConnectionsWithoutDeadlines", false,
	},
	{
		"closing waits for a connection that does not end", "lanes/close.go",
		"\t\tl.forced = true\n", "",
		"./lanes", "TestStubbornConnectionsAreLeftBehind", false,
	},
	{
		"a late read writes into a batch that is used again", "lanes/close.go",
		"l.forced && late != nil && !late.done {", "late == nil && !late.done {",
		"./lanes", "TestLateReadHasNoMemoryOfTheBatch", false,
	},
	{
		"a dial waits for a function that does not end", "lanes/dialer.go",
		"foreign := d.NetDial != nil || d.Credentials != nil", "foreign := false",
		"./lanes", "TestDialEndsWithItsContext", false,
	},
	{
		"lanes copy commands without bounds", "pool/leave.go",
		"\t\tlane.SetMaxQueued(p.maxQueued)\n", "",
		"./pool", "TestLanesAreBoundedByBytes", false,
	},
	{
		"idle lanes keep large buffers", "lanes/lane.go",
		"\t\tl.wbuf, l.spare = shrink(l.wbuf), shrink(l.spare)\n", "",
		"./lanes", "TestWriteBuffersShrink", false,
	},
	{
		"a handshake that was cut off counts as refused", "lanes/handshake.go",
		"if refused := d.refusal(s, reply); !s.optional || refused.ofAll() {", "if refused := d.refusal(s, reply); refused != nil {",
		"./lanes", "TestBrokenHandshakeIsNoRefusal", false,
	},
	{
		"a reply that is nested too deep closes a shared lane", "internal/resp/framer.go",
		"\tf.refuse(TooDeep)\n", "\tif f != nil {\n\t\treturn ErrProtocol\n\t}\n",
		"./lanes", "TestTooDeepEndsThatCommandOnly", false,
	},
	{
		"attributes reach the decoder, which recurses for each", "lanes/decode.go",
		"\treplies = resp.WithoutAttributes(replies)\n", "",
		"./lanes", "TestDeepRepliesAreDecoded", false,
	},
	{
		"attributes without end", "internal/resp/framer.go",
		"f.attributes > f.limits.Attributes {", "false {",
		"./lanes", "TestTooDeepEndsThatCommandOnly/attributes", false,
	},
	{
		"small requests queue behind large replies", "lanes/strategy.go",
		"used < firstFitDepth && !s.LargeReply(i)", "used < firstFitDepth",
		"./lanes", "TestFirstFitAvoidsLargeReplies", false,
	},
	{
		"a slow command overtakes those before it on its slot", "cluster/slow.go",
		"_, slow := slices.BinarySearch(r.slowSlots, r.slots[i])", "slow := r.marks[i]&markSlow != 0",
		"./cluster", "TestSlowKeepsTheOrderOfItsSlot", false,
	},
	{
		"slow commands that are sent again go with the others", "cluster/retry.go",
		"\tt.SetSlow(slow)\n", "",
		"./cluster", "TestSlowStaysSlowInLaterWaves", false,
	},
	{
		"who is refused queues for the lock of those who are served", "pool/pool.go",
		"case int(waiting) >= p.MaxWaiters:", "case false:",
		"./pool", "TestRefusalTakesNoLock", false,
	},
	{
		"an upload over a slow link is taken for silence", "lanes/write.go",
		"\t\t\tl.progress.Add(1) // room for it became free: the other side takes bytes\n", "",
		"./pool", "TestSteadyUploadIsNotSilence", false,
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
		"the map of the slots is asked of silent nodes first", "cluster/refresh.go",
		"silent[n.addr] = 1", "silent[n.addr] = 0",
		"./cluster", "TestSilentNodesAreAskedLast", false,
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
		"a blocking command that radix does not know holds up a shared lane", "internal/command/rule.go",
		"\tcase t&Blocking != 0:\n\t\treturn Alone\n", "",
		"./cluster", "TestBlockingCommandsAreLentAConnection", false,
	},
	{
		"a blocking command holds up a lane of a pool", "lanes/request.go",
		"if lender, ok := to.(Lender); ok {", "if lender, ok := to.(Lender); ok && r == nil {",
		"./pool", "TestDoLendsToWhatBlocks", false,
	},
	{
		"what gets no reply goes over a connection of others", "lanes/request.go",
		"\t\tcase command.Held:\n\t\t\treturn r.Refused()\n", "",
		"./pool", "TestDoRefusesWhatChangesAConnection", false,
	},
	{
		"commands without a key change their node when slots move", "cluster/topology.go",
		"if i := slices.Index(t.nodes, before.primary(noKey)); i >= 0 {", "if i := -1; i >= 0 {",
		"./cluster", "TestSettle", false,
	},
	{
		"an unknown command is routed by a guess", "cluster/exec.go",
		"\tif r.unknown {\n", "\tif false {\n",
		"./cluster", "TestUnknownCommandsAreAskedFor", false,
	},
	{
		"a redirect of any slot is followed", "cluster/verdict.go",
		"x.how.noFollow || slot != int32(to.slot)", "x.how.noFollow",
		"./cluster", "TestNobodyTellsOfACommand", false,
	},
	{
		"a command with keys in two slots is sent", "cluster/keys.go",
		"if ok && s != slot {", "if ok && s != slot && len(key) == 0 {",
		"./cluster", "TestCrossSlotIsRefusedUnsent", false,
	},
	{
		"a lent connection is returned twice", "pool/lent.go",
		"if !again {", "if again || !again {",
		"./pool", "TestReturnedConnectionIsInert", false,
	},
	{
		"a returned connection is still used", "pool/lent.go",
		"\tif c.returned {\n\t\treturn lanes.NotSent(c.Address(), ErrReturned)\n\t}\n", "",
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
		"a redirect on a lent connection reaches the receiver", "cluster/lentconn.go",
		"if refused != nil && len(commands) == 1 {", "if refused = nil; refused != nil {",
		"./cluster", "TestLentRedirectsReachNoReceiver", false,
	},
	{
		"ASKING inside a transaction", "cluster/lentconn.go",
		"if !inTransaction {", "if request != nil || !inTransaction || inTransaction {",
		"./cluster", "TestLentRedirectsReachNoReceiver", false,
	},
	{
		"batches on lanes that broke stay part of the load", "lanes/close.go",
		"\t\t\tl.load.remove(1)\n", "\t\t\tl.load.remove(0)\n",
		"./pool", "TestLostLanesAreNoLoad", false,
	},
	{
		"PINGs are load of a shared pool", "pool/maintain.go",
		"\tb.Uncounted()\n", "",
		"./pool", "TestPingsAreNoLoad", false,
	},
	{
		"map: a server without cluster mode takes all slots", "cluster/judge.go",
		"case said.single && (use == nil || !use.single):", "case false:",
		"./cluster", "TestStandaloneSeed|TestJudge", false,
	},
	{
		"map: commands are sent to a server without cluster mode", "cluster/member.go",
		"case isDisabled(mode) || isDisabled(id):", "case false:",
		"./cluster", "TestStandaloneServerAtANodesAddress/fixed", false,
	},
	{
		"map: commands are sent to a node of another cluster", "cluster/member.go",
		"idOf(id) == \"\" || t.view.ids[idOf(id)]", "true",
		"./cluster", "TestAdmit", false,
	},
	{
		"map: one that loses slots is believed", "cluster/judge.go",
		"worst = max(worst, lost)", "_ = lost",
		"./cluster", "TestOneNodeClaimsOneSlot", false,
	},
	{
		"map: one with smaller config epochs is believed", "cluster/judge.go",
		"worst = max(worst, older)", "_ = older",
		"./cluster", "TestPartitionedPrimary", false,
	},
	{
		"map: one that contradicts MOVED is believed", "cluster/judge.go",
		"worst = max(worst, contrary)", "_ = contrary",
		"./cluster", "TestMovedOutlivesOldMaps", false,
	},
	{
		"map: another cluster's is believed", "cluster/judge.go",
		"case !use.knows(said):", "case false:",
		"./cluster", "TestNodeOfAnotherCluster", false,
	},
	{
		"map: one server is two witnesses", "cluster/judge.go",
		"w.doubt <= lost && !w.by(v) && w.view", "w.doubt <= lost && w.view",
		"./cluster", "TestPoll", false,
	},
	{
		"map: the host that was dialled is translated", "cluster/ask.go",
		"if n.dialled {", "if false {",
		"./cluster", "TestAddrMapIsAskedOnce", false,
	},
	{
		"map: first refreshes of a trouble are as slow as later ones", "cluster/pace.go",
		"p.quick < quickRefreshes", "false",
		"./cluster", "TestRefreshesAreSpaced", false,
	},
	{
		"start: an address that holds a password is printed", "lanes/addr.go",
		"return errNoAddr", "return nil",
		"./cluster", "TestAddressesWithPasswords", false,
	},
	{
		"start: a server that is loading its data is not waited for", "cluster/start.go",
		"errors.Is(cause.Err, ErrRefused)", "false",
		"./cluster", "TestLoadingServerIsWaitedFor", false,
	},
	{
		"start: a server with too many clients is not waited for", "cluster/start.go",
		" && passing(refused)", " && false",
		"./cluster", "TestTooManyClientsAtTheStart", false,
	},
	{
		"a request holds what cannot travel with others", "cluster/request.go",
		"c.Traits()&(Stateful|Blocking) != 0", "c.Traits() == 255",
		"./cluster", "TestRequestsAreRefusedAtTheDoor", false,
	},
	{
		"map: a storm of MOVED copies it for each slot", "cluster/verdict.go",
		"x.moves = append(x.moves, move{to.slot, n})", "x.client.learn([]move{{to.slot, n}})",
		"./cluster", "TestStormOfMovedIsCheap", false,
	},
	{
		"a wrong password is told as the end of the last connection, and dialled again fast", "pool/breaker.go",
		"err = p.lastErr //", "_ = p.lastErr //",
		"./pool", "TestDownTellsWhyItCannotBeDialled", false,
	},
	{
		"calls retry for as long as their context lasts", "cluster/trouble.go",
		"return now.Sub(t.since) < grace", "return grace > 0",
		"./cluster", "TestDeadForGood/LOADING", false,
	},
	{
		"a success does not end a trouble", "cluster/exec.go",
		"\tc.troubles.endedBy(r)\n", "",
		"./cluster", "TestDeadForGood/LOADING", false,
	},
	{
		"reads end a trouble of writes", "cluster/trouble.go",
		"(s <= by || known.unsent)", "true",
		"./cluster", "TestReadsDoNotHideWrites", false,
	},
	{
		"other keys end a TRYAGAIN", "cluster/verdict.go",
		"return site{slot: slot, command: fingerprint(command)}", "return site{slot: slot}",
		"./cluster", "TestTryAgainIsAboutItsKeys", false,
	},
	{
		"each slot without an owner has a grace of its own", "cluster/trouble.go",
		"if t.gap == nil || t.gap != m && !t.gap.lacksAllOf(m) {", "if true {",
		"./cluster", "TestNoOwnerGrace", false,
	},
	{
		"a second look after the context's end misses a batch", "lanes/batch.go",
		"return c.pending.Add(1) == 1, err", "if err != nil {\n\t\treturn false, err\n\t}\n\treturn c.pending.Add(1) == 1, err",
		"./cluster", "TestSequentialDeadline", false,
	},
	{
		"redirects wait for the replies of other nodes", "lanes/batch.go",
		"left > 0 && !c.alarm.Swap(false);", "left > 0;",
		"./cluster", "TestNoBarrierBetweenNodes", false,
	},
	{
		"a refused command undoes what a later one did", "cluster/order.go",
		"s.again() && s != toAsk && behind.slots[x.request.slots[i]]:", "false:",
		"./cluster", "TestOrderWithinASlot", false,
	},
	{
		"a read that was refused is not sent again because others ran", "cluster/order.go",
		"\t\t\tbehind = writes\n", "\t\t\tbehind = all\n",
		"./cluster", "TestReadsOvertakeNoReads", false,
	},
	{
		"a followed ASK undoes what a later command did", "cluster/order.go",
		"case s == toAsk && behind.sharesKey(x.request, i), ", "case ",
		"./cluster", "TestOrderWithinASlot", false,
	},
	{
		"a silent replica takes the whole deadline", "cluster/retry.go",
		"\t\tx.giveUpReplicas()\n", "\t\tx.patience = time.Time{}\n",
		"./cluster", "TestSecondaryFallsBack/silent", false,
	},
	{
		"a replica that refuses is asked again", "cluster/verdict.go",
		"\tcase x.how.replica:\n\t\treturn toTurn\n", "",
		"./cluster", "TestSecondaryFallsBack/LOADING", false,
	},
	{
		"deadlines are no hint", "cluster/exec.go",
		"if errors.Is(err, context.DeadlineExceeded) {", "if errors.Is(err, context.Canceled) {",
		"./cluster", "TestDeadlineIsAHint", false,
	},
	{
		"a primary that is slow is taken for a silent replica", "cluster/retry.go",
		"x.how.replica, x.patience = false, time.Time{}", "x.how.replica = false",
		"./cluster", "TestSlowPrimaryIsAskedOnce", false,
	},
	{
		"troubles of slots are remembered without end", "cluster/trouble.go",
		"return t.ofSlots < maxTroubles", "return true",
		"./cluster", "TestTroublesAreBounded", false,
	},
	{
		"troubles of slots leave no room for those of nodes", "cluster/trouble.go",
		"return len(t.at)-t.ofSlots < maxTroubles", "return len(t.at) < maxTroubles",
		"./cluster", "TestTroublesAreBounded", false,
	},
	{
		"one slot in trouble costs the commands of all slots", "cluster/trouble.go",
		"if t.slots[slot] == 0 {", "if t.ofSlots == 0 {",
		"./cluster", "TestTroubleOfASlotCostsOthersNothing", false,
	},
	{
		"lent connections retry for as long as their context lasts", "cluster/lent.go",
		"case !mayTryAgain(&t, now, grace), wait(", "case wait(",
		"./cluster", "TestLentActionsKnowTheGrace", false,
	},
}
