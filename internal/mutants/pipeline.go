package main

// ofPipeline are protections in package pipeline.
var ofPipeline = []quotation{
	{
		"a hit waits behind one to a node that is silent", "pipeline/key.go",
		"h.call.deadline); err != nil {", "h.call.deadline); err != nil && false {",
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
		"case h.ttl > 0 && x.expiry != nil:", "case false:",
		"./pipeline", "TestNoRightToExpire", false,
	},
	{
		"a hit without a TTL gets another one's error of EXPIRE", "pipeline/count.go",
		"case h.ttl > 0 && x.expiry != nil:", "case x.expiry != nil:",
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
		"hits that the server refused are counted one by one", "pipeline/batch.go",
		"overflows(s.sent.err)", "s.sent.err != nil",
		"./pipeline", "TestRefusedFlight", false,
	},
	{
		"parts of a sum that overflows have no time to live", "pipeline/batch.go",
		"by: h.by, ttl: h.ttl,", "by: h.by,",
		"./pipeline", "TestPartsExpire", false,
	},
	{
		"a key that was deleted is believed to have its time to live", "pipeline/count.go",
		"\tcase x.looksNew():\n", "\tcase false:\n",
		"./pipeline", "TestExpireIsSentOnce", false,
	},
	{
		"a hit whose reply cannot be read is taken for one that did not run", "pipeline/count.go",
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
		"a hit that was taken back leaves its TTL", "pipeline/sum.go",
		"\tif s.shed {\n", "\tif false {\n",
		"./pipeline", "TestTakenBackWithItsTTL", false,
	},
	{
		"a panic that the caller recovers leaves its key out", "pipeline/batch.go",
		"\t\tb.ctx = nil\n\t\tb.land(b.sums)\n", "\t\tif b.ctx = nil; recover() == nil {\n\t\t\tb.land(b.sums)\n\t\t}\n",
		"./pipeline", "TestPanicBelowHit", false,
	},
	{
		"keys on one node wait for one that is sent again", "internal/engine/retry.go",
		"\tx.tell(commands)\n", "",
		"./pipeline", "TestGatheredByNode", false,
	},
	{
		"a call's keys wait for its slowest node", "pipeline/key.go",
		"s.batch.p.list.Request.Early()", "_ = s.batch.p.list.Request.Early",
		"./pipeline", "TestSlowNodeHoldsUpItsOwnKeys", false,
	},
	{
		"batches wait for hits on others' keys", "pipeline/key.go",
		"k.next.gathered.Add(1)", "for _, s := range c.shards {\n\t\t\tfor _, k := range s.keys {\n\t\t\t\tif k.next != nil {\n\t\t\t\t\tk.next.gathered.Add(1)\n\t\t\t\t}\n\t\t\t}\n\t\t}",
		"./pipeline", "TestGather", false,
	},
	{
		"few callers wait for each other's hits on a key", "pipeline/key.go",
		"len(k.out) < mostBeside", "len(k.out) < 1",
		"./pipeline", "TestHitsBesideEachOther", false,
	},
	{
		"a hit relies on a time to live beside one that gives none", "pipeline/key.go",
		"\t\t\ts.doubted.Store(true)", "",
		"./pipeline", "TestDoubtsBeside", false,
	},
	{
		"a hit on its way relies on a time to live beside one that gives none", "pipeline/key.go",
		"\t\t\tbeside.doubted.Store(true)", "",
		"./pipeline", "TestDoubtsBeside", false,
	},
	{
		"a hit remembers a time to live that one beside it may have lost", "pipeline/expiries.go",
		" && !s.doubted.Load():", ":",
		"./pipeline", "TestDoubtsBeside", false,
	},
	{
		"shards keep the memory of a burst", "pipeline/key.go",
		"\ts.shrinkLocked()\n", "",
		"./pipeline", "TestShardsShrink", false,
	},
	{
		"a command is appended to a pipeline that was done", "pipeline/pipeline.go",
		"\tif err := p.list.Unfit(); err != nil {\n\t\treturn p.refuse(\"INCRBY\", err)\n\t}\n", "",
		"./pipeline", "TestAppendAfterDo", false,
	},
}
