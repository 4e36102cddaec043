package main

// ofLimit are protections in package limit.
var ofLimit = []quotation{
	{
		"what a limit denies stays counted", "limit/call.go",
		"return len(c.hits)+len(c.draws) > 0\n}\n\n// result", "return false\n}\n\n// result",
		"./limit", "TestFixedWindow|TestCosts", false,
	},
	{
		"what another limit denies stays counted", "limit/call.go",
		"!c.denied && c.each[i].Allowed", "c.each[i].Allowed",
		"./limit", "TestAllOrNothing", false,
	},
	{
		"a limit in the shadow denies", "limit/call.go",
		"!d.Allowed && !rule.Shadow", "!d.Allowed",
		"./limit", "TestShadow", false,
	},
	{
		"a hit that Redis cannot count is always allowed", "limit/call.go",
		"d.Err, d.Allowed = err, !rule.FailClosed", "d.Err, d.Allowed = err, true",
		"./limit", "TestWithoutRedis", false,
	},
	{
		"the budget is not kept", "limit/limiter.go",
		"by := c.began.Add(l.cfg.Budget)", "by := c.began.Add(l.cfg.Budget * 10)",
		"./limit", "TestWithoutRedis", false,
	},
	{
		"the near cache denies smaller hits", "limit/near.go",
		"cost < f.cost || ", "",
		"./limit", "TestNearCache", false,
	},
	{
		"the near cache outlives hits that are taken back", "limit/call.go",
		"most := l.cfg.Budget\n", "most := Never\n",
		"./limit", "TestNearCache", false,
	},
	{
		"tokens of another rule keep a bucket empty", "limit/bucket.go",
		"full = math.min(full, now + burst * per)\n", "",
		"./limit", "TestTokensOfAnotherRule", false,
	},
	{
		"tokens that have flowed in meanwhile are given back, too", "limit/bucket.go",
		"cost * per + flowed)", "cost * per)",
		"./limit", "TestTokensThatFlowedInMeanwhile", false,
	},
	{
		"the near cache outlives tokens that are given back", "limit/call.go",
		"if a.limit.rule.CountDenied {\n\t\t\tmost = Never", "if a.limit.rule.CountDenied || a.draw != nil {\n\t\t\tmost = Never",
		"./limit", "TestNearForgetsTokens", false,
	},
	{
		"a local share is used up by calls that were denied", "limit/local.go",
		"\tb.full -= float64(cost) * l.per(r)\n", "",
		"./limit", "TestInstances", false,
	},
	{
		"what a caller owes that has gone stays counted", "limit/limiter.go",
		"context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Budget)", "context.WithTimeout(ctx, l.cfg.Budget-time.Since(c.began))",
		"./limit", "TestTakenBackLater", false,
	},
	{
		"a client that has gone costs nothing", "limit/http.go",
		"context.WithoutCancel(r.Context())", "context.Context(r.Context())",
		"./limit", "TestHandler", false,
	},
	{
		"the window before does not count", "limit/call.go",
		"free := limit - a.now - w.share(a.before)", "free := limit - a.now",
		"./limit", "TestSlidingWindow", false,
	},
	{
		"a server that has forgotten the script denies nothing", "internal/engine/verdict.go",
		"if x.request.sendText(i) {", "if false {",
		"./limit", "TestTokenBucket", false,
	},
	{
		"more remains than the limit, of a key that was lost", "limit/call.go",
		"max(h.Total, least)", "h.Total+0*least",
		"./limit", "TestLostCount", false,
	},
}
