package main

// ofCluster are protections in package engine.
var ofCluster = []mutant{
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
		"a storm of refreshes", "internal/engine/pace.go",
		"refreshSpacing = 500 * time.Millisecond", "refreshSpacing = time.Millisecond",
		"./internal/engine", "TestRefreshesAreSpaced", false,
	},
	{
		"a node that leaves takes commands with it", "internal/engine/client.go",
		"\tn.retire()\n", "\tif n != nil {\n\t\treturn\n\t}\n",
		"./cluster", "TestLeavingNodesFailNoCall", false,
	},
	{
		"a key lives for ever after a refused INCRBY", "internal/engine/order.go",
		"if steps[k] == ran {", "if false {",
		"./cluster", "TestExpiryFollowsItsCounter", false,
	},
	{
		"a call waits for the EXPIRE of a hit that was refused", "internal/engine/order.go",
		"case of == stands && s.again():", "case false:",
		"./pipeline", "TestScriptSharesItsCountersFate", false,
	},
	{
		"an INCRBY goes again without the EXPIRE that was refused with it", "internal/engine/order.go",
		"case of.again() && s == stands:", "case false:",
		"./pipeline", "TestScriptSharesItsCountersFate", false,
	},
	{
		"a standalone server that answers sooner takes the slots", "internal/engine/judge.go",
		"return another // it has other data", "return noDoubt",
		"./cluster", "TestSlowStandaloneServerStays", false,
	},
	{
		"a redirect to where it comes from is followed", "internal/engine/redirect.go",
		"if place == addr {", "if false {",
		"./cluster", "TestRedirectToItself/MOVED$", false,
	},
	{
		"a stale connection stays in use", "internal/engine/verdict.go",
		"f == fate.Itself || f == fate.ReadOnly", "f == fate.ReadOnly",
		"./cluster", "TestRedirectToItselfWithoutAMap", false,
	},
	{
		"a stale lent connection stays in use", "internal/engine/lent.go",
		"if to.fate == fate.Itself || l.replica == nil", "if l.replica == nil",
		"./cluster", "TestStaleWithoutIDs", false,
	},
	{
		"a stale connection of a node's own client stays in use", "internal/engine/nodes.go",
		"c.leadsTo(to)) == fate.Itself || ", "c.leadsTo(to)) == fate.Unserved || ",
		"./cluster", "TestStaleWithoutIDs", false,
	},
	{
		"a redirect to an unknown host is followed", "internal/engine/redirect.go",
		"return redirect{fate: fate.Nowhere, slot: uint16(slot)}", "",
		"./cluster", "TestAddressOfAnUnknownHost", false,
	},
	{
		"a redirect for another slot is followed", "internal/engine/verdict.go",
		"if slot != int32(to.slot) {\n\t\treturn stands", "if false {\n\t\treturn stands",
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
		"known != nil && known.born <= sent && (s", "known != nil && (s",
		"./cluster", "TestEarlierReplyEndsNoTrouble", false,
	},
	{
		"a read ends the trouble of lent writes", "internal/engine/lent.go",
		"siteOf(to.fate, addr, l.seen.refused,", "siteOf(to.fate, addr, l.sort(),",
		"./cluster", "TestReadsDoNotHideLentWrites", false,
	},
	{
		"a WATCH that ran ends a trouble of reads", "internal/engine/lentconn.go",
		"s.ran = max(s.ran, provenBy(encoded))", "s.ran = max(s.ran, sortOf(encoded))",
		"./cluster", "TestWatchDoesNotHideLoading", false,
	},
	{
		"a server that refuses connections gives reads a new grace", "internal/engine/verdict.go",
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
		"a replica that is down is read from while another one is up", "internal/engine/replicas.go",
		"return n.answers(asReplica) && !slices", "return !slices",
		"./cluster", "TestSilentReplica", false,
	},
	{
		"the primary is read from while another replica is up", "internal/engine/replicas.go",
		"!slices.Contains(avoid, n)", "len(avoid) == 0",
		"./cluster", "TestAnotherReplicaBeforeThePrimary", false,
	},
	{
		"replicas in other zones are read from first", "internal/engine/replicas.go",
		"n.near = zone == c.cfg.Zone", "n.near = zone != c.cfg.Zone",
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
		"another server's map changes the replica of a slot", "internal/engine/replicas.go",
		"return strings.Compare(a.addr, b.addr)", "return 0 * strings.Compare(a.addr, b.addr)",
		"./internal/engine", "TestReplicaOfASlot", false,
	},
	{
		"commands without a key go round nodes that are down", "internal/engine/topology.go",
		"if t.nodes[i].answers(asPrimary) {", "if t.nodes[i] != nil {",
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
		"if !mayTryAgain(&trouble{since: l.since, silent: true}, now, left,", "if true || !mayTryAgain(&trouble{since: l.since, silent: true}, now, left,",
		"./cluster", "TestUnknownCommandOutlastsAFailover", false,
	},
	{
		"short calls wait for a silent node until the grace is over", "internal/engine/trouble.go",
		"if t.silent && left < grace", "if left < 0 && left < grace",
		"./cluster", "TestSilentNodeHoldsUpNoShortCall", false,
	},
	{
		"a map waits for its connection to end", "internal/engine/ask.go",
		"c.tasks.Go(func() { _ = lane.Close() })", "_ = lane.Close()",
		"./cluster", "TestMapBeforeItsConnectionEnds", false,
	},
	{
		"the map of the slots is asked of silent nodes first", "internal/engine/refresh.go",
		"silent[n.addr] = 1", "silent[n.addr] = 0",
		"./internal/engine", "TestSilentNodesAreAskedLast", false,
	},
	{
		"commands without a key change their node when slots move", "internal/engine/topology.go",
		"if i := slices.Index(t.nodes, before.primary(noKey)); i >= 0 {", "if i := -1; i >= 0 {",
		"./internal/engine", "TestSettle", false,
	},
	{
		"an unknown command is routed by a guess", "internal/engine/exec.go",
		"\tif r.unknown {\n", "\tif false {\n",
		"./cluster", "TestUnknownCommandsAreAskedFor", false,
	},
	{
		"a redirect of any slot is followed", "internal/engine/verdict.go",
		"if slot != int32(to.slot) {\n\t\treturn stands", "if false {\n\t\treturn stands",
		"./cluster", "TestNobodyTellsOfACommand", false,
	},
	{
		"a command with keys in two slots is sent", "internal/engine/keys.go",
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
		"a replica among standalone servers is used", "internal/engine/judge.go",
		"case said.single && said.follows:", "case false:",
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
		"calls retry for as long as their context lasts", "internal/engine/trouble.go",
		"return now.Sub(t.since) < grace", "return grace > 0",
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
		"\tx.attempts[i].trouble = nil\n\treturn ran\n}", "\tx.succeeded(i, addr)\n\treturn ran\n}",
		"./cluster", "TestReadsDoNotHideWrites", false,
	},
	{
		"other keys end a TRYAGAIN", "internal/engine/verdict.go",
		"return site{slot: slot, command: fingerprint(command)}", "return site{slot: slot}",
		"./cluster", "TestTryAgainIsAboutItsKeys", false,
	},
	{
		"each command for a slot without an owner has a grace of its own", "internal/engine/gap.go",
		"return g.losses[n].since", "return now",
		"./cluster", "TestNoOwnerGrace", false,
	},
	{
		"a refused command undoes what a later one did", "internal/engine/order.go",
		"s.again() && s != toAsk && behind.slots[x.request.slots[i]]:", "false:",
		"./cluster", "TestOrderWithinASlot", false,
	},
	{
		"a read that was refused is not sent again because others ran", "internal/engine/order.go",
		"\t\t\tbehind = writes\n", "\t\t\tbehind = all\n",
		"./cluster", "TestReadsOvertakeNoReads", false,
	},
	{
		"a followed ASK undoes what a later command did", "internal/engine/order.go",
		"case s == toAsk && behind.sharesKey(x.request, i), ", "case ",
		"./cluster", "TestOrderWithinASlot", false,
	},
	{
		"a silent replica takes the whole deadline", "internal/engine/retry.go",
		"\t\tx.giveUpReplicas()\n", "\t\tx.patience = time.Time{}\n",
		"./cluster", "TestSecondaryFallsBack/silent", false,
	},
	{
		"a replica that refuses is asked again", "internal/engine/verdict.go",
		"case replica != nil || x.givesUp:\n", "case x.givesUp:\n",
		"./cluster", "TestSecondaryFallsBack/LOADING", false,
	},
	{
		"deadlines are no hint", "internal/engine/failed.go",
		"errors.Is(err, context.Canceled), ", "errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), ",
		"./cluster", "TestDeadlineIsAHint", false,
	},
	{
		"a primary that is slow is taken for a silent replica", "internal/engine/verdict.go",
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
		"case !mayTryAgain(&t, now, l.had, grace), l.client.wait(", "case l.client.wait(",
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
		"a script's READONLY leaves its connections where they are", "internal/engine/verdict.go",
		"if x.replicaOf(i) == nil && fate.SaysReplica(text) {", "if false {",
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
		"a script's own error is repeated over a proxy", "internal/engine/verdict.go",
		"if isAmbiguous(err) && runsScript(x.request.command(i)) {", "if false {",
		"./cluster", "TestUnlistedIsRepeatedIfSafe", false,
	},
	{
		"a server that is full for now is dialled as slowly as with a wrong password", "internal/nodepool/breaker.go",
		"&& !wire.Passes(refused)", "&& (true || !wire.Passes(refused))",
		"./internal/nodepool", "TestRefusalsThatPass", false,
	},
}
