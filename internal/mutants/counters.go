package main

// counters are promises of Counters and of package limit.
var counters = []promise{
	{"a counted key has its time to live", []mutant{
		{fault: "a key is counted before it has its time to live", at: "pipeline.Pipeline.count",
			by: drop("create"), tests: "./pipeline TestCutHitExpires"},
		{fault: "a key that expires between SET and INCRBY lives for ever", at: "pipeline.count.gave",
			by: always("IsNull"), tests: "./pipeline TestCountOfAKeyThatExpires"},
		{fault: "a key that was deleted is believed to have its time to live", at: "pipeline.count.read",
			by: never("looksNew"), tests: "./pipeline TestExpireIsSentOnce"},
		{fault: "nobody hears that a key may live for ever", at: "pipeline.count.of",
			by: never("ttl", "expiry"), tests: "./pipeline TestNoRightToExpire"},
	}},
	{"hits on one key merge exactly", []mutant{
		{fault: "a total in between overflows", at: "pipeline.fits",
			by: instead("by >= 0 && by <= math.MaxInt64-sum", "true"), tests: "./pipeline TestHitsGather"},
		{fault: "a hit that has left is told that it was not sent", at: "pipeline.Counters.leave",
			by: never("w.out"), tests: "./pipeline TestLeaving"},
		{fault: "a key waits for a silent connection", at: "pipeline.Counters.leave",
			by: always("lateAfter"), tests: "./pipeline TestHitsPassALateIncrby"},
	}},
	{"a limit is never exceeded, and only what it allows is counted", []mutant{
		{fault: "what a limit denies stays counted", at: "limit.call.owes",
			by: never("hits"), tests: "./limit TestFixedWindow|TestCosts"},
		{fault: "what another limit denies stays counted", at: "limit.call.owes",
			by: always("!c.denied"), tests: "./limit TestAllOrNothing"},
		{fault: "the window before does not count", at: "limit.ask.used",
			by: instead("plus(a.now, a.window.share(a.before))", "a.now"), tests: "./limit TestSlidingWindow"},
		{fault: "a lease hands out more than it has", at: "limit/internal/lease.Lease.Take",
			by: instead("cost <= l.left", "l.left > 0"), tests: "./limit/internal/lease TestGiveBack"},
		{fault: "a refill goes over the limit", at: "limit.fittingText",
			by: spelled("tonumber(ARGV[2]) - hits", "tonumber(ARGV[2])"), tests: "./limit TestRefill"},
		{fault: "a hit that Redis cannot count is always allowed", at: "limit.ask.decideWithout",
			by: always("FailClosed"), tests: "./limit TestWithoutRedis"},
		{fault: "an adjustment that is sent again counts twice", at: "limit.runOnce",
			by: spelled(`redis.call("GET", KEYS[2])`, "false"), tests: "./limit TestSettleOnce"},
		{fault: "a full key takes one more holder", at: "limit/places.holdText",
			by: spelled("held >= most", "held > most"), tests: "./limit/places TestSemaphore"},
	}},
}
