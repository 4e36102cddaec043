package main

// ofPipeline are protections in package pipeline.
var ofPipeline = []mutant{
	{
		"a hit waits for a flight to a node that is silent", "pipeline/lineup.go",
		"m.call.deadline); err != nil {", "m.call.deadline); err != nil && false {",
		"./cluster", "TestSilentNodeHoldsUpNoHit", false,
	},
	{
		"a key is counted before it has its time to live", "pipeline/count.go",
		"\t\tx.created = p.create(x.key, x.ttl)\n\t}\n\tx.counted", "\t}\n\tx.counted",
		"./pipeline", "TestCutHitExpires", false,
	},
	{
		"a key that is found without a time to live is left so", "pipeline/count.go",
		"case err == nil && end == -1:", "case false:",
		"./pipeline", "TestTimeToLiveOnce", false,
	},
	{
		"a hit of which only the time to live failed is taken for done", "pipeline/count.go",
		"case m.ttl > 0 && x.expiry != nil:", "case false:",
		"./pipeline", "TestNoRightToExpire", false,
	},
	{
		"a hit without a TTL gets another one's error of EXPIRE", "pipeline/count.go",
		"case m.ttl > 0 && x.expiry != nil:", "case x.expiry != nil:",
		"./pipeline", "TestNoRightToExpire", false,
	},
	{
		"a key that may have been counted is believed to have its time to live", "pipeline/count.go",
		"case x.err != nil || doubted:", "case doubted:",
		"./pipeline", "TestCutHitExpires", false,
	},
	{
		"an INCRBY goes again without the SET in front of it", "internal/attempt/order.go",
		"ahead.Leads, ahead.Early, ahead.Step = true, ahead.Step == Ran, head.Step", "_ = ahead",
		"./cluster", "TestCountGoesAgainAsAPair", false,
	},
	{
		"hits that the server refused are counted one by one", "pipeline/send.go",
		"overflows(f.sent.err)", "f.sent.err != nil",
		"./pipeline", "TestRefusedFlight", false,
	},
	{
		"parts of a flight that overflows have no time to live", "pipeline/send.go",
		"by: m.by, ttl: m.ttl,", "by: m.by,",
		"./pipeline", "TestPartsExpire", false,
	},
	{
		"a key that was deleted is believed to have its time to live", "pipeline/count.go",
		"\tcase x.looksNew():\n", "\tcase false:\n",
		"./pipeline", "TestExpireIsSentOnce", false,
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
		"a key whose time to live could not be set is believed to have it", "pipeline/expiries.go",
		"case x.total == 0, x.expiry != nil:", "case x.total == 0 && x.expiry == nil:",
		"./pipeline", "TestEndOfACallWithoutExpire", false,
	},
	{
		"a key at 0 is taken for one that was deleted", "pipeline/expiries.go",
		"case x.total == 0, x.expiry != nil:", "case x.expiry != nil:",
		"./pipeline", "TestLooksTakeOneTrip", false,
	},
	{
		"a key without a time to live is believed to have the one of the key before it", "pipeline/expiries.go",
		"x.ttl <= 0 && x.looksNew():", "false:",
		"./pipeline", "TestExpireIsSentOnce", false,
	},
	{
		"a time to live is believed in for ever", "pipeline/expiries.go",
		"min(left/rememberedPart, mostRemembered)", "time.Hour",
		"./pipeline", "TestExpiriesRoom", false,
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
