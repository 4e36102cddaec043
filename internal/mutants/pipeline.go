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
		"\tdefer func() {\n\t\tnext := c.carriers", "\tdefer func() {\n\t\tif e := recover(); e != nil {\n\t\t\tpanic(e)\n\t\t}\n\t\tnext := c.carriers",
		"./pipeline", "TestPanicBelowHit", false,
	},
	{
		"a carrier's keys wait for each other's nodes", "pipeline/carrier.go",
		"c.flyAlone(c.split(next.flights, true), true)", "c.flyAlone(next.flights, true)",
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
}
