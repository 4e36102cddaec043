package main

// ofLimit are protections in package limit.
var ofLimit = []mutant{
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
		"context.WithTimeout(ctx, l.cfg.Budget)", "context.WithTimeout(ctx, l.cfg.Budget*10)",
		"./limit", "TestWithoutRedis", false,
	},
	{
		"the near cache denies smaller hits", "limit/near.go",
		"!ok || cost < f.cost ||", "!ok ||",
		"./limit", "TestNearCache", false,
	},
	{
		"the near cache outlives hits that are taken back", "limit/call.go",
		"most := l.cfg.Budget\n", "most := Never\n",
		"./limit", "TestNearCache", false,
	},
	{
		"the window before does not count", "limit/call.go",
		"free := limit - a.now - w.share(a.before)", "free := limit - a.now",
		"./limit", "TestSlidingWindow", false,
	},
	{
		"a server that has forgotten the script denies nothing", "limit/bucket.go",
		"if len(unknown) > 0 {", "if false {",
		"./limit", "TestTokenBucket", false,
	},
}
