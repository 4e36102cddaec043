package main

// ofCluster are protections in package engine.
var ofCluster = []quotation{
	{
		"a call that waits until it tries again outlives Close", "internal/engine/exec.go",
		"\tcase <-c.ctx.Done():\n\t\treturn nil\n", "",
		"./cluster", "TestCloseEndsWaits", false,
	},
	{
		"a client that is told of one request in many times each of them", "internal/engine/observation.go",
		"rand.IntN(c.cfg.TraceOneIn) == 0", "rand.IntN(c.cfg.TraceOneIn) >= 0",
		"./internal/engine", "TestOneInSoManyIsTraced", false,
	},
	{
		"a goroutine's batch is used again though a lane still holds it", "internal/engine/exec.go",
		"\tif err := ctx.Err(); err != nil {\n\t\tif slices.", "\tif err := ctx.Err(); err != nil && f == nil {\n\t\tif slices.",
		"./cluster", "TestGoroutinesDeadline", false,
	},
	{
		"a trip that a goroutine sent is not judged", "internal/engine/exec.go",
		"\t\tf.sendEach(ctx, trips)\n", "\t\tf.sendEach(ctx, trips)\n\t\tf.settled = f.used\n",
		"./cluster", "TestGoroutinesAreJudged", false,
	},
	{
		"a storm of refreshes", "internal/engine/refresh.go",
		"refreshSpacing = 500 * time.Millisecond", "refreshSpacing = time.Millisecond",
		"./internal/engine", "TestRefreshesAreSpaced", false,
	},
	{
		"a node that leaves takes commands with it", "internal/engine/client.go",
		"\tn.retire()\n", "\tif n != nil {\n\t\treturn\n\t}\n",
		"./cluster", "TestLeavingNodesFailNoCall", false,
	},
	{
		"a key lives for ever after a refused INCRBY", "internal/attempt/order.go",
		"case head.Step.Again() && !c.Step.Again():", "case head.Step.Again() && c.Step == Stands:",
		"./internal/attempt", "TestOrder", false,
	},
	{
		"a call waits for the EXPIRE of a hit that was refused", "internal/attempt/order.go",
		"case head.Step == Stands && c.Step.Again():", "case false:",
		"./internal/attempt", "TestOrder", false,
	},
	{
		"an INCRBY goes again without the EXPIRE that was refused with it", "internal/attempt/order.go",
		"case head.Step.Again() && !c.Step.Again():", "case head.Step.Again() && c.Step == Ran:",
		"./internal/attempt", "TestOrder", false,
	},
	{
		"a standalone server that answers sooner takes the slots", "internal/slots/judge.go",
		"return another // it has other data", "return noDoubt",
		"./cluster", "TestSlowStandaloneServerStays", false,
	},
	{
		"a redirect to where it comes from is followed", "internal/slots/redirect.go",
		"if place == addr {", "if false {",
		"./cluster", "TestRedirectToItself/MOVED$", false,
	},
	{
		"a stale connection stays in use", "internal/attempt/step.go",
		"return f == fate.Itself || !replica", "return !replica",
		"./cluster", "TestRedirectToItselfWithoutAMap", false,
	},
	{
		"a stale lent connection stays in use", "internal/engine/lent.go",
		"if attempt.Stale(to.Fate, []byte(reply.S), l.replica != nil) {", "if attempt.Stale(fate.Unserved, []byte(reply.S), l.replica != nil) {",
		"./cluster", "TestStaleWithoutIDs", false,
	},
	{
		"a stale connection of a node's own client stays in use", "internal/engine/nodes.go",
		"if attempt.Stale(to.From(p.Address(), c.leadsTo(to)), text,", "if attempt.Stale(to.Fate, text,",
		"./cluster", "TestStaleWithoutIDs", false,
	},
	{
		"a redirect to an unknown host is followed", "internal/slots/redirect.go",
		"return Redirect{Fate: fate.Nowhere, Slot: uint16(slot)}", "",
		"./cluster", "TestAddressOfAnUnknownHost", false,
	},
	{
		"a redirect for another slot is followed", "internal/engine/redirect.go",
		"if slot != int32(to.Slot) {\n\t\treturn attempt.Stands", "if false {\n\t\treturn attempt.Stands",
		"./cluster", "TestRedirectForAnotherSlot", false,
	},
	{
		"addresses that a server invents are remembered without end", "internal/engine/client.go",
		"if c.strangers == maxStrangers {", "if false {",
		"./cluster", "TestRedirectsToEverNewAddresses", false,
	},
	{
		"fast commands queue behind slow ones", "internal/engine/exec.go",
		"if r.slow > 0 && c.slowLanes {", "if false {",
		"./cluster", "TestFastPassesSlow", false,
	},
	{
		"small requests queue behind large ones", "internal/engine/exec.go",
		"if t.Len() >= largeTrip {", "if false {",
		"./cluster", "TestLargeTripsTravelSlow", false,
	},
	{
		"a slow command overtakes those before it on its slot", "internal/engine/slow.go",
		"_, slow := slices.BinarySearch(r.slowSlots, r.slots[i])", "slow := r.marks[i]&markSlow != 0",
		"./cluster", "TestSlowKeepsTheOrderOfItsSlot", false,
	},
	{
		"slow commands that are sent again go with the others", "internal/engine/retry.go",
		"\tt.SetSlow(slow)\n", "",
		"./cluster", "TestSlowStaysSlowInLaterWaves", false,
	},
	{
		"a reply from before a trouble ends it", "internal/engine/trouble.go",
		"return t.met <= sent", "return true",
		"./cluster", "TestEarlierReplyEndsNoTrouble", false,
	},
	{
		"a read ends the trouble of lent writes", "internal/engine/lent.go",
		"siteOf(to.Fate, addr, l.seen.refused,", "siteOf(to.Fate, addr, l.sort(),",
		"./cluster", "TestReadsDoNotHideLentWrites", false,
	},
	{
		"a WATCH that ran ends a trouble of reads", "internal/engine/lentconn.go",
		"s.ran = max(s.ran, provenBy(encoded))", "s.ran = max(s.ran, sortOf(encoded))",
		"./cluster", "TestWatchDoesNotHideLoading", false,
	},
	{
		"a server that refuses connections gives reads a new grace", "internal/engine/unanswered.go",
		"refusedDial(err), beganAt(err)", "\"\", beganAt(err)",
		"./cluster", "TestRefusedDialDoesNotHideLoading", false,
	},
	{
		"a refusal is a receiver's value", "internal/engine/action.go",
		"if err == nil && isRefusal(reply, addr) {", "if false {",
		"./cluster", "TestRefusalsReachNoReceiver", false,
	},
	{
		"a blocking pipeline is repeated of which a part has run", "internal/engine/lent.go",
		"l.once && !l.seen.some", "l.once",
		"./cluster", "TestBlockingPipelineIsNotRepeated", false,
	},
	{
		"a replica that is down is read from while another one is up", "internal/slots/replicas.go",
		"return n.Answers(false) && !slices", "return !slices",
		"./cluster", "TestSilentReplica", false,
	},
	{
		"the primary is read from while another replica is up", "internal/slots/replicas.go",
		"!slices.Contains(avoid, n)", "len(avoid) == 0",
		"./cluster", "TestAnotherReplicaBeforeThePrimary", false,
	},
	{
		"replicas in other zones are read from first", "internal/engine/zone.go",
		"n.Near = zone == q.cfg.Zone", "n.Near = zone != q.cfg.Zone",
		"./cluster", "TestZones", false,
	},
	{
		"each replica is asked for a write", "internal/engine/verdict.go",
		"x.how.Replicas = false // no replica writes", "_ = x",
		"./cluster", "TestWriteToReplicas", false,
	},
	{
		"a slow primary is asked twice where no replica was", "internal/engine/retry.go",
		"if x.had < math.MaxInt64 && asked && r", "if _ = asked; x.had < math.MaxInt64 && x.how.Replicas && r",
		"./cluster", "TestSlowPrimaryWithoutReplicas", false,
	},
	{
		"another server's map changes the replica of a slot", "internal/slots/replicas.go",
		"return strings.Compare(a.Addr(), b.Addr())", "return 0 * strings.Compare(a.Addr(), b.Addr())",
		"./internal/slots", "TestReplicaOfASlot", false,
	},
	{
		"commands without a key go round nodes that are down", "internal/slots/table.go",
		"if t.Nodes[i].Answers(true) {", "if t.nodes[i] != nil {",
		"./cluster", "TestKeylessWhileAllNodesAreDown", false,
	},
	{
		"a call that tries for long keeps all of its tries", "internal/engine/retry.go",
		"f.open || f.used < x.many", "true || f.used < x.many",
		"./cluster", "TestLongTriesNeedNoMemory", false,
	},
	{
		"the first use of an unknown command has a grace of its own", "internal/engine/learn.go",
		"if len(down) > 0 && len(down) == nodes {", "if false {",
		"./cluster", "TestUnknownCommandWhileNodesAreDead", false,
	},
	{
		"a busy connection counts as trouble for those that ask what a command is", "internal/engine/learn.go",
		"\t\t\tl.since = time.Now()\n", "",
		"./cluster", "TestUnknownCommandWaitsForBusyConnections", false,
	},
	{
		"an unknown command is routed by a guess while all nodes are down", "internal/engine/learn.go",
		"if !(attempt.Outage{Since: l.since, Silent: true}).MayRetry(now, left,", "if true || !(attempt.Outage{Since: l.since, Silent: true}).MayRetry(now, left,",
		"./cluster", "TestUnknownCommandOutlastsAFailover", false,
	},
	{
		"short calls wait for a silent node until the grace is over", "internal/attempt/outage.go",
		"if o.Silent && left < window", "if left < 0 && left < window",
		"./cluster", "TestSilentNodeHoldsUpNoShortCall", false,
	},
	{
		"a map waits for its connection to end", "internal/engine/ask.go",
		"q.tasks.Go(func() { _ = lane.Close() })", "_ = lane.Close()",
		"./cluster", "TestMapBeforeItsConnectionEnds", false,
	},
	{
		"the map of the slots is asked of silent nodes first", "internal/engine/refresh.go",
		"silent[n.addr] = 1", "silent[n.addr] = 0",
		"./internal/engine", "TestSilentNodesAreAskedLast", false,
	},
	{
		"commands without a key change their node when slots move", "internal/slots/table.go",
		"if i := slices.Index(t.Nodes, before.Primary(NoKey)); i >= 0 {", "if i := -1; i >= 0 {",
		"./internal/slots", "TestSettle", false,
	},
	{
		"an unknown command is routed by a guess", "internal/engine/exec.go",
		"\tif r.unknown {\n", "\tif false {\n",
		"./cluster", "TestUnknownCommandsAreAskedFor", false,
	},
	{
		"a redirect of any slot is followed", "internal/engine/redirect.go",
		"if slot != int32(to.Slot) {\n\t\treturn attempt.Stands", "if false {\n\t\treturn attempt.Stands",
		"./cluster", "TestNobodyTellsOfACommand", false,
	},
	{
		"a command with keys in two slots is sent", "internal/engine/route.go",
		"if ok && s != slot {", "if ok && s != slot && len(key) == 0 {",
		"./cluster", "TestCrossSlotIsRefusedUnsent", false,
	},
	{
		"a redirect on a lent connection reaches the receiver", "internal/engine/lentconn.go",
		"if refused != nil && !c.seen.some {", "if refused = nil; refused != nil {",
		"./cluster", "TestLentRedirectsReachNoReceiver", false,
	},
	{
		"ASKING inside a transaction", "internal/engine/lentconn.go",
		"if !inTransaction {", "if request != nil || !inTransaction || inTransaction {",
		"./cluster", "TestLentRedirectsReachNoReceiver", false,
	},
	{
		"a dead node that only MOVED names is forgotten", "internal/engine/client.go",
		"case time.Since(n.named) < strangerTime:", "case false:",
		"./internal/sim/model", "TestDeadNodeBehindMoved", false,
	},
	{
		"a replica among standalone servers is used", "internal/slots/judge.go",
		"case said.Single && said.Follows:", "case false:",
		"./internal/faults", "TestPrimaryAmongStandaloneServers", false,
	},
	{
		"a script goes by its hash before others of its slot", "internal/engine/exec.go",
		"\t\tr.spellOut()\n", "",
		"./pipeline", "TestScriptKeepsItsOrder", false,
	},
	{
		"NOSCRIPT stands", "internal/engine/verdict.go",
		"if x.request.sendText(i) {", "if false {",
		"./pipeline", "TestScript", false,
	},
	{
		"a proxy is asked for COMMAND", "internal/engine/learn.go",
		"cmd.Known() || c.cfg.Standalone", "cmd.Known()",
		"./cluster", "TestStrictProxy", false,
	},
	{
		"a lazy client does not say why", "internal/engine/refresh.go",
		"\t\tc.notStarted.Store(&err) // before anybody can ask\n", "",
		"./cluster", "TestLazy", false,
	},
	{
		"a request holds what cannot travel with others", "internal/engine/request.go",
		"c.Traits()&(command.Stateful|command.Blocking) != 0", "c.Traits() == 255",
		"./cluster", "TestRequestsAreRefusedAtTheDoor", false,
	},
	{
		"calls retry for as long as their context lasts", "internal/attempt/outage.go",
		"return now.Sub(o.Since) < window", "return window > 0",
		"./cluster", "TestDeadForGood/LOADING", false,
	},
	{
		"a success does not end a trouble", "internal/engine/exec.go",
		"\tc.troubles.endedBy(r)\n", "",
		"./cluster", "TestDeadForGood/LOADING", false,
	},
	{
		"reads end a trouble of writes", "internal/engine/trouble.go",
		"(s <= by || known.unsent)", "true",
		"./cluster", "TestReadsDoNotHideWrites", false,
	},
	{
		"scripts end a trouble of writes", "internal/engine/trouble.go",
		"return maybeWriting", "return writing",
		"./cluster", "TestScriptsDoNotHideWrites", false,
	},
	{
		"an error that a server makes before it looks whether it may write ends a trouble of writes", "internal/engine/verdict.go",
		"\tx.attempts[i].trouble = nil\n\treturn attempt.Ran\n}", "\tx.succeeded(i, addr)\n\treturn attempt.Ran\n}",
		"./cluster", "TestReadsDoNotHideWrites", false,
	},
	{
		"other keys end a TRYAGAIN", "internal/engine/verdict.go",
		"return site{slot: slot, command: fingerprint(command)}", "return site{slot: slot}",
		"./cluster", "TestTryAgainIsAboutItsKeys", false,
	},
	{
		"each command for a slot without an owner has a grace of its own", "internal/engine/gap.go",
		"g.heard, since = now, g.since", "g.heard = now",
		"./cluster", "TestNoOwnerGrace", false,
	},
	{
		"a refused command undoes what a later one did", "internal/attempt/order.go",
		"c.Step != Ask && behind.slots[c.Slot]:", "false:",
		"./cluster", "TestOrderWithinASlot", false,
	},
	{
		"a read that was refused is not sent again because others ran", "internal/attempt/order.go",
		"\t\tbehind = wrote\n", "\t\tbehind = ran\n",
		"./cluster", "TestReadsOvertakeNoReads", false,
	},
	{
		"a followed ASK undoes what a later command did", "internal/attempt/order.go",
		"case c.Step == Ask && behind.sharesKey(c), ", "case ",
		"./cluster", "TestOrderWithinASlot", false,
	},
	{
		"a silent replica takes the whole deadline", "internal/engine/retry.go",
		"\t\tx.giveUpReplicas()\n", "\t\tx.patience = time.Time{}\n",
		"./cluster", "TestSecondaryFallsBack/silent", false,
	},
	{
		"a replica that refuses is asked again", "internal/engine/verdict.go",
		"Next(replica != nil || x.givesUp,", "Next(x.givesUp,",
		"./cluster", "TestSecondaryFallsBack/LOADING", false,
	},
	{
		"deadlines are no hint", "internal/engine/failed.go",
		"errors.Is(err, context.Canceled), ", "errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), ",
		"./cluster", "TestDeadlineIsAHint", false,
	},
	{
		"a primary that is slow is taken for a silent replica", "internal/engine/redirect.go",
		"x.how.Replicas, x.patience = false, time.Time{}", "x.how.Replicas = false",
		"./cluster", "TestSlowPrimaryIsAskedOnce", false,
	},
	{
		"troubles of slots are remembered without end", "internal/engine/trouble.go",
		"return t.ofSlots < maxTroubles", "return true",
		"./internal/engine", "TestTroublesAreBounded", false,
	},
	{
		"troubles of slots leave no room for those of nodes", "internal/engine/trouble.go",
		"return len(t.at)-t.ofSlots < maxTroubles", "return len(t.at) < maxTroubles",
		"./internal/engine", "TestTroublesAreBounded", false,
	},
	{
		"one slot in trouble costs the commands of all slots", "internal/engine/trouble.go",
		"if t.slots[slot] == 0 {", "if t.ofSlots == 0 {",
		"./internal/engine", "TestTroubleOfASlotCostsOthersNothing", false,
	},
	{
		"lent connections retry for as long as their context lasts", "internal/engine/lent.go",
		"\tcase attempt.Retry:\n", "\tcase attempt.Retry, attempt.Stands:\n",
		"./cluster", "TestLentActionsKnowTheGrace", false,
	},
	{
		"each slot that refuses a command for a moment is a line in the log", "internal/engine/episodes.go",
		"!of.told.IsZero() || now.Sub(since) < lasting", "!of.told.IsZero()",
		"./internal/engine", "TestLogOfTroubles", false,
	},
	{
		"each slot that moves is a line in the log", "internal/engine/log.go",
		"if _, due := l.moved.Due(time.Now()); due {", "{",
		"./internal/engine", "TestLogOfMoves", false,
	},
	{
		"keys that move hide in the log that the cluster is down", "internal/engine/episodes.go",
		"case at.command != 0:\n\t\treturn &e.keys\n", "",
		"./internal/engine", "TestLogOfKeysThatMove", false,
	},
	{
		"a script's READONLY leaves its connections where they are", "internal/attempt/step.go",
		"(f == fate.ReadOnly || fate.SaysReplica(text))", "f == fate.ReadOnly",
		"./internal/sim/model", "TestScriptsBehindAFailover", false,
	},
	{
		"an error inside a script of Valkey 9 is taken for a refusal", "internal/fate/fate.go",
		"bytes.HasPrefix(after, scriptPlace) || ", "",
		"./internal/fate", "TestOf", false,
	},
	{
		"a cluster node with too many clients refuses for good", "internal/fate/texts.go",
		"{\"ERR max number of clients \", NoRoom}", "{\"ERR max number of clients reached\", NoRoom}",
		"./internal/fate", "TestOf", false,
	},
	{
		"what a proxy makes up is taken for the server's word", "internal/engine/errors.go",
		"if !proxied || !resp.IsError(reply) {", "if true {",
		"./cluster", "TestFates", false,
	},
	{
		"a script's own error is repeated over a proxy", "internal/attempt/step.go",
		"return repeatable && !(madeUp && script), Ran", "return repeatable, Ran",
		"./cluster", "TestUnlistedIsRepeatedIfSafe", false,
	},
	{
		"a server that is full for now is dialled as slowly as with a wrong password", "internal/nodepool/breaker.go",
		"&& !wire.Passes(refused)", "&& (true || !wire.Passes(refused))",
		"./internal/nodepool", "TestRefusalsThatPass", false,
	},
}
