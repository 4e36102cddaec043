package main

// ofPipeline are protections in package pipeline.
var ofPipeline = []mutant{
	{
		"a hit waits for a flight to a node that is silent", "pipeline/lineup.go",
		"m.call.deadline); err != nil {", "m.call.deadline); err != nil && false {",
		"./cluster", "TestSilentNodeHoldsUpNoHit", false,
	},
	{
		"a call that ends leaves its key without a time to live", "pipeline/flight.go",
		"if f.outcome.owes && f.ttl > 0 {", "if false {",
		"./pipeline", "TestDebtsArePaid", false,
	},
	{
		"a debt that was refused in a way that may change is given up", "pipeline/said.go",
		"return !said || !f.Hopeless()", "return !said || f.Refused()",
		"./pipeline", "TestDebtsToOldServers", false,
	},
	{
		"an EXPIRE that has overtaken its INCRBY is believed", "pipeline/count.go",
		"o.expiryErr, o.owes = nil, o.mayRunYet()", "o.expiryErr, o.owes = nil, false",
		"./pipeline", "TestLateHitExpires", false,
	},
	{
		"a debt that is paid before its INCRBY runs is settled", "pipeline/debt.go",
		"case err == nil && !x.debt.ran && x.debt.staysAt(time.Now(), x.left):", "case false:",
		"./pipeline", "TestLateHitExpires", false,
	},
	{
		"keys of hits that never run are asked for without end", "pipeline/debt.go",
		"return now.Before(over) && gone.Before(over)", "_ = over\n\treturn true",
		"./pipeline", "TestHitsThatNeverRun", false,
	},
	{
		"an EXPIRE that is repeated moves the key's end", "pipeline/debt.go",
		"if x.debt.heard.IsZero() {", "if true {",
		"./pipeline", "TestHitsThatNeverRun", false,
	},
	{
		"a script in place of EXPIRE NX does not follow its INCRBY", "pipeline/count.go",
		"p.list.Request.Expiry(p.Len() - 1) // also if it is a script", "_ = i",
		"./pipeline", "TestScriptFollowsItsCounter", false,
	},
	{
		"hits that the server refused are counted one by one", "pipeline/count.go",
		"overflows(f.outcome.err)", "f.outcome.err != nil",
		"./pipeline", "TestRefusedFlight", false,
	},
	{
		"parts of a flight that overflows have no EXPIRE", "pipeline/count.go",
		"c.append(p, f.lineup.key, m.by, m.ttl, false)", "c.append(p, f.lineup.key, m.by, 0, false)",
		"./pipeline", "TestPartsExpire", false,
	},
	{
		"a key that was deleted is believed to have its time to live", "pipeline/expiries.go",
		"f.outcome.err != nil || f.outcome.total == f.sum ||", "f.outcome.err != nil ||",
		"./pipeline", "TestExpireIsSentOnce", false,
	},
	{
		"a key that may have been counted is believed to have its time to live", "pipeline/expiries.go",
		"f.outcome.err != nil || f.outcome.total == f.sum ||", "f.outcome.total == f.sum ||",
		"./pipeline", "TestCutHitExpires", false,
	},
	{
		"a hit whose reply cannot be read is taken for one that did not run", "pipeline/said.go",
		"return f.MayHaveRun()", "return false && f.MayHaveRun()",
		"./pipeline", "TestSaid", false,
	},
	{
		"a time to live is believed to be at a new primary", "pipeline/expiries.go",
		"mark(hash ^ owners*golden)", "mark(hash)",
		"./pipeline", "TestNewPrimaryIsSentExpire", false,
	},
	{
		"an EXPIRE of a key that was not counted is believed", "pipeline/expiries.go",
		"case f.late, f.outcome.err != nil, f.outcome.expiryErr != nil, f.outcome.total == 0:", "case false:",
		"./pipeline", "TestRefusedKeyIsNotKnown", false,
	},
	{
		"a key without a time to live is believed to have the one of the key before it", "pipeline/expiries.go",
		"case f.ttl <= 0 && f.outcome.total == f.sum:", "case false:",
		"./pipeline", "TestExpireIsSentOnce", false,
	},
	{
		"a time to live is believed in for ever", "pipeline/expiries.go",
		"min(ttl/rememberedPart, mostRemembered)", "time.Hour",
		"./pipeline", "TestExpiriesRoom", false,
	},
	{
		"an EXPIRE whose outcome is unknown is not repeated", "pipeline/count.go",
		"p.expireNX(key, ttl).Idempotent()", "p.expireNX(key, ttl)",
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
		"\tdefer c.touchDown(flights, keep)\n\tc.send(ctx, flights)", "\tc.send(ctx, flights)\n\tc.touchDown(flights, keep)",
		"./pipeline", "TestPanicBelowHit", false,
	},
	{
		"a carrier's keys wait for each other's nodes", "pipeline/carrier.go",
		"next.flights = c.scatter(next.flights)\n", "",
		"./pipeline", "TestCarriedByNode", false,
	},
	{
		"a call's keys wait for its slowest node", "pipeline/lineup.go",
		"l.owner.requests.Early()", "_ = l.owner.requests.Early",
		"./pipeline", "TestSlowNodeHoldsUpItsOwnKeys", false,
	},
	{
		"a panic that the caller recovers leaves keys of several nodes out", "pipeline/leave.go",
		"if g != nil {", "if g != nil && recover() == nil {",
		"./pipeline", "TestPanicOfACallToSeveralNodes", false,
	},
	{
		"carriers wait for hits on others' keys", "pipeline/lineup.go",
		"l.carrier.gathered.Add(1)", "for _, s := range c.shards {\n\t\t\t\t\tfor _, l := range s.out {\n\t\t\t\t\t\tif l.carrier != nil {\n\t\t\t\t\t\t\tl.carrier.gathered.Add(1)\n\t\t\t\t\t\t}\n\t\t\t\t\t}\n\t\t\t\t}",
		"./pipeline", "TestLetGather", false,
	},
	{
		"few callers wait for each other's hits on a key", "pipeline/lineup.go",
		"return place, place < mostBeside", "return place, false",
		"./pipeline", "TestHitsBesideEachOther", false,
	},
	{
		"a hit relies on a time to live beside one that gives none", "pipeline/lineup.go",
		"\t\t\tl.out.doubted.Store(true)", "",
		"./pipeline", "TestDoubtsBeside", false,
	},
	{
		"a hit on its way relies on a time to live beside one that gives none", "pipeline/lineup.go",
		"\t\t\tbeside.out.doubted.Store(true)", "",
		"./pipeline", "TestDoubtsBeside", false,
	},
	{
		"a hit remembers a time to live that one beside it may have lost", "pipeline/expiries.go",
		" && !f.doubted.Load():", ":",
		"./pipeline", "TestDoubtsBeside", false,
	},
	{
		"shards keep the memory of a burst", "pipeline/lineup.go",
		"\ts.shrinkLocked()\n", "",
		"./pipeline", "TestShardsShrink", false,
	},
	{
		"a command is appended to a pipeline that was done", "pipeline/pipeline.go",
		"\tif err := p.list.Unfit(); err != nil {\n\t\treturn p.refuse(\"INCRBY\", err)\n\t}\n", "",
		"./pipeline", "TestAppendAfterDo", false,
	},
}
