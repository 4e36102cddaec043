package main

// ofEdges are defects that were seen in this library where two mechanisms did one job,
// or where it believed what it was told, and of which no other row is one.
var ofEdges = []quotation{
	{
		"keys are looked for where radix does", "internal/command/keys.go",
		"return countedKeys(args, int(r.first), int(r.step))\n\tcase byCountStore:", "return rangeKeys(args.Len(), 0, 0, 1)\n\tcase byCountStore:",
		"./internal/command", "TestKeys", false,
	},
	{
		"a header is believed that claims more than there is", "internal/resp/encode.go",
		"if claimed > int64(len(rest)) {", "if false {",
		"./internal/resp", "TestClaimsBeyondTheEnd", false,
	},
	{
		"more keys are counted than there are arguments", "internal/command/keys.go",
		"if fit := (max(0, given-first) + step - 1) / step; n > fit {", "if n > given {",
		"./internal/command", "TestKeys", false,
	},
	{
		"what changes a connection goes over one of others", "internal/command/rule.go",
		"case t&Stateful != 0:", "case false:",
		"./internal/nodepool", "TestDoRefusesWhatChangesAConnection", false,
	},
	{
		"EXEC without MULTI clears what WATCH set", "internal/nodepool/lent.go",
		"done := !resp.IsError(reply)", "done := sent.Effect() == command.EndsTransaction || !resp.IsError(reply)",
		"./internal/nodepool", "TestUsage", false,
	},
	{
		"a strategy runs under the pool's lock", "internal/nodepool/dispatch.go",
		"\t\ta.mu.Unlock()\n\t\tfor i := range choices {\n\t\t\tc := &choices[i]\n\t\t\tc.lane, c.err = a.choose(set.Set, c.key)\n\t\t}\n\t\ta.mu.Lock()\n",
		"\t\tfor i := range choices {\n\t\t\tc := &choices[i]\n\t\t\tc.lane, c.err = a.choose(set.Set, c.key)\n\t\t}\n",
		"./internal/nodepool", "TestStrategyMayAskThePool", false,
	},
	{
		"map: a question has two seconds, whatever the timeout is", "internal/engine/ask.go",
		"context.WithTimeout(ctx, dialer.Timeout)", "context.WithTimeout(ctx, 2e9)",
		"./internal/engine", "TestQuestionHasTheDialersTimeout", false,
	},
	{
		"calls give up before a failover is over", "internal/attempt/outage.go",
		"return now.Sub(o.Since) < window\n", "return now.Sub(o.Since) < min(window, 300*time.Millisecond)\n",
		"./cluster", "TestFailoverFailsNoCall", false,
	},
}
