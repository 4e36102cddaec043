package main

// limits are promises of package limit.
var limits = []promise{
	{"a denied call is not counted", []mutant{
		{fault: "what a limit denies stays counted", at: "limit.call.owes",
			by: never("hits"), tests: "./limit TestFixedWindow|TestCosts"},
		{fault: "what another limit denies stays counted", at: "limit.call.owes",
			by: always("!c.denied"), tests: "./limit TestAllOrNothing"},
		{fault: "the near cache outlives tokens that are given back", at: "limit.call.remember",
			by: instead("a.limit.rule.CountDenied", "a.limit.rule.CountDenied || a.draw != nil"), tests: "./limit TestNearForgetsTokens"},
		{fault: "a local share is used up by calls that were denied", at: "limit.local.give",
			by: drop("b.full"), tests: "./limit TestInstances"},
		{fault: "tokens that have flowed in meanwhile are given back, too", at: "limit.bucketText",
			by: spelled("cost * per + flowed", "cost * per"), tests: "./limit TestTokensThatFlowedInMeanwhile"},
	}},
	{"a limit denies only as its rule says", []mutant{
		{fault: "a limit in the shadow denies", at: "limit.call.decide",
			by: always("Shadow"), tests: "./limit TestShadow"},
		{fault: "a hit that Redis cannot count is always allowed", at: "limit.call.decide",
			by: always("FailClosed"), tests: "./limit TestWithoutRedis"},
		{fault: "tokens of another rule keep a bucket empty", at: "limit.bucketText",
			by: spelled("full = math.min(full, now + burst * per)\n", ""), tests: "./limit TestTokensOfAnotherRule"},
		{fault: "the window before does not count", at: "limit.ask.judge",
			by: instead("limit - a.now - w.share(a.before)", "limit - a.now"), tests: "./limit TestSlidingWindow"},
		{fault: "more remains than the limit, of a key that was lost", at: "limit.call.failure",
			by: instead("max(h.Total, least)", "h.Total+0*least"), tests: "./limit TestLostCount"},
	}},
	{"a call takes no longer than the budget, and pays back without its caller", []mutant{
		{fault: "the budget is not kept", at: "limit.Limiter.askInTime",
			by: instead("l.cfg.Budget", "l.cfg.Budget * 10"), tests: "./limit TestWithoutRedis"},
		{fault: "what a caller owes that has gone stays counted", at: "limit.Limiter.takeBack",
			by: instead("context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Budget)", "context.WithTimeout(ctx, l.cfg.Budget-time.Since(c.began))"), tests: "./limit TestTakenBackLater"},
		{fault: "a client that has gone costs nothing", at: "limit.Limiter.Handler",
			by: instead("context.WithoutCancel", "context.Context"), tests: "./limit TestHandler"},
	}},
	{"the near cache denies only what Redis would", []mutant{
		{fault: "the near cache denies smaller hits", at: "limit.near.denies",
			by: never("cost < f.cost"), tests: "./limit TestNearCache"},
		{fault: "the near cache outlives hits that are taken back", at: "limit.call.remember",
			by: instead("l.cfg.Budget", "Never"), tests: "./limit TestNearCache"},
	}},
}
