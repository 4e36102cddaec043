package main

// counts are promises of Counters and of package limit: 22, and 30 to 36.
var counts = []promise{
	{"22: Counters merge hits exactly, and no key of theirs lives for ever", []mutant{
		{fault: "a key is counted before it has its time to live", at: "pipeline.Pipeline.count",
			by: drop("x.create(p)"), test: "./pipeline TestCutHitExpires"},
		{fault: "a key that expires between SET and INCRBY lives for ever", at: "pipeline.count.gave",
			by: always("!x.set.IsNull()"), test: "./pipeline TestCountOfAKeyThatExpires"},
		{fault: "a key that was deleted is believed to have its time to live", at: "pipeline.count.read",
			by: never("x.looksNew()"), test: "./pipeline TestExpireIsSentOnce"},
		{fault: "nobody hears that a key may live for ever", at: "pipeline.count.of",
			by: never("ttl > 0 && x.expiry != nil"), test: "./pipeline TestNoRightToExpire"},
		{fault: "a total in between overflows", at: "pipeline.fits",
			by: instead("by >= 0 && by <= math.MaxInt64-sum", "true"), test: "./pipeline TestHitsGather"},
		{fault: "a hit that has left is told that it was not sent", at: "pipeline.Counters.leave",
			by: never("w.out"), test: "./pipeline TestLeaving"},
		{fault: "a key waits for a silent connection", at: "pipeline.Counters.leave",
			by: always("time.Since(k.sent) < turns.LateAfter"), test: "./pipeline TestHitsPassALateIncrby"},
	}},
	{"30: a limit is never exceeded", []mutant{
		{fault: "the window before does not count", at: "limit/internal/counter.fittingText",
			by: instead("used + share + n", "used + n"), test: "./limit/internal/counter TestScenes"},
		{fault: "the script counts what does not fit", at: "limit/internal/counter.fittingText",
			by: instead("> tonumber(ARGV[2])", "> tonumber(ARGV[2]) + 1"), test: "./limit/internal/counter TestScenes"},
		{fault: "an INCRBY that went over stays", at: "limit/internal/counter.Server.counted",
			by: never("t.room() < 0"), test: "./limit/internal/counter TestModel"},
		{fault: "a key that INCRBY has made never ends", at: "limit/internal/counter.Server.readIncr",
			by: instead("used >= t.Used+t.n", "true"), test: "./limit/internal/counter TestModel"},
		{fault: "a lease hands out more than it has", at: "limit/internal/lease.Lease.Take",
			by: instead("cost <= l.left", "l.left > 0"), test: "./limit/internal/lease TestGiveBack"},
		{fault: "a lease uses tokens that have flowed in", at: "limit/internal/lease.line.expire",
			by: never("s.At < at"), test: "./limit/internal/lease TestLine"},
		{fault: "a full key takes one more holder", at: "limit/places.holdText",
			by: instead("held >= most", "held > most"), test: "./limit/places TestSemaphore"},
	}},
	{"31: hits that do not fit are not counted", []mutant{
		{fault: "INCRBY counts near the limit", at: "limit/internal/counter.Take.far",
			by: instead("t.room()/Far", "t.room()"), test: "./limit/internal/counter TestScenes"},
	}},
	{"32: several limits are counted together or not at all", []mutant{
		{fault: "what another limit denies stays counted", at: "limit.Limiter.allowed",
			by: never("c.denied"), test: "./limit TestAllOrNothing"},
	}},
	{"35: without Redis, each rule does what it says", []mutant{
		{fault: "a hit that Redis cannot count is always allowed", at: "limit.ask.without",
			by: always("!rule.FailClosed"), test: "./limit TestWithoutRedis"},
	}},
	{"36: estimates are replaced by actual costs once", []mutant{
		{fault: "an adjustment that is sent again counts twice", at: "limit/internal/bucket.Once",
			by: instead(`redis.call("GET", KEYS[2])`, "false"), test: "./limit TestSettleOnce"},
	}},
}
