package main

// known are the faults of other clients, in the order of docs/faults.md.
var known = []quotation{
	{
		"1 callers wait behind a missing reply: no stall watchdog", "internal/nodepool/maintain.go",
		"if m.state != lent && (v.Stalled ||", "if m == nil && (v.Stalled ||",
		"./internal/nodepool", "TestStalledServerIsGivenUp", false,
	},
	{
		"1 callers wait behind a missing reply: no deadline of their own", "internal/wire/call.go",
		"case <-own:\n\tcase <-outer:\n\t}\n\treturn ctx.Err()", "case <-outer:\n\t}\n\treturn nil",
		"./internal/wire", "TestCallerLeavesASilentServerAtItsDeadline", false,
	},
	{
		"2 the pool's lock is held over a round trip", "internal/nodepool/exclusive.go",
		"m.becomeLocked(busy)\n\t\t\ta.mu.Unlock()\n\t\t\ta.attend()\n\t\t\treturn true",
		"m.becomeLocked(busy)\n\t\t\twire.Flush([]*wire.Batch{b})\n\t\t\tb.Read(context.Background())\n\t\t\tfor m.lane.InFlight() > 0 && m.lane.Err() == nil {\n\t\t\t}\n\t\t\ta.mu.Unlock()\n\t\t\treturn true",
		"./internal/nodepool", "TestSlowCommandsHoldNobodyUp", false,
	},
	{
		"3 memory is written after the caller has left", "internal/wire/lane.go",
		"b.abandoned = true\n", "",
		"./internal/wire", "TestNothingWritesToAnAbandonedBatch", true,
	},
	{
		"4 an expired context closes a healthy connection", "internal/wire/lane.go",
		"\tif b.flush { // the caller left before it wrote", "\tl.Fail(cause)\n\tif b.flush { // the caller left before it wrote",
		"./internal/wire", "TestNeighboursOfAnAbandonedBatch", false,
	},
	{
		"5 a refused command takes the others with it once more", "internal/engine/retry.go",
		"\tx.keepOrder(commands)\n", "\tif slices.Contains(x.steps, toRetry) {\n\t\tfor k := range x.steps {\n\t\t\tx.steps[k] = toRetry\n\t\t}\n\t}\n",
		"./cluster", "TestRefusedForNow", false,
	},
	{
		"6 a negative length is believed", "internal/resp/framer.go",
		"\t\treturn false, fmt.Errorf(\"%w: length -%d behind %q\", ErrProtocol, f.num, f.cur)\n", "",
		"./internal/resp", "TestFramerRefuses", false,
	},
	{
		"6 a huge bulk string is believed", "internal/resp/framer.go",
		"if f.num > f.limits.Bulk {", "if false {",
		"./internal/resp", "TestFramerRefuses", false,
	},
	{
		"6 a huge array is believed", "internal/resp/framer.go",
		"if f.num > f.limits.Elements || n > f.limits.Elements {", "if false {",
		"./internal/resp", "TestFramerRefuses", false,
	},
	{
		"7 one dead seed fails the start and refreshes", "internal/engine/refresh.go",
		"\t\t\tc.count(&votes, a, failed)\n", "\t\t\tif a.err != nil {\n\t\t\t\treturn nil, a.err\n\t\t\t}\n\t\t\tc.count(&votes, a, failed)\n",
		"./cluster", "TestDeadSeeds", false,
	},
	{
		"7 an unknown endpoint is dialled as :port", "internal/slots/parse.go",
		"\t\th = asked\n", "",
		"./cluster", "TestUnknownEndpoints", false,
	},
	{
		"8 MOVED and ASK reach the caller", "internal/engine/verdict.go",
		"return x.follow(i, to, text, addr, now)\n", "return attempt.Stands\n",
		"./cluster", "TestRadixPipelineFollowsRedirects", false,
	},
	{
		"8 errors of the server show arguments", "internal/resp/redact.go",
		"func Redact(msg string) string {\n", "func Redact(msg string) string {\n\tif msg != \"\" {\n\t\treturn msg\n\t}\n",
		"./cluster", "TestCanaryInServerErrors", false,
	},
	{
		"8 errors of a pipeline show its commands", "internal/wire/conn.go",
		"return withoutValues(err, &redislanes.DecodeError{Into: \"what a radix.Pipeline holds\"})", "_ = (*redislanes.DecodeError)(nil)\n\treturn err",
		"./cluster", "TestCanaryInTrouble", false,
	},
	{
		"9 a command whose reply was lost is sent again (go-redis)", "internal/attempt/step.go",
		"return repeatable && !", "return !",
		"./pipeline", "TestCutAtEveryOffset", false,
	},
	{
		"9 unknown outcomes are reported as not sent", "internal/wire/batch.go",
		"if i < b.handed {", "if false {",
		"./pipeline", "TestCutAtEveryOffset", false,
	},
	{
		"9 a repeat that was not sent hides that the command may have run", "internal/attempt/doubt.go",
		"\tif d.first == nil {\n\t\td.first = err", "\tif d == nil {\n\t\td.first = err",
		"./cluster", "TestOnlyAReplyEndsADoubt", false,
	},
	{
		"9 a command that may have run is refused by its repeat", "internal/attempt/doubt.go",
		"return fate.Of(text).AboutCommand() || resp.IsRefusal(text)", "return fate.Of(text) < 99",
		"./cluster", "TestOnlyAReplyEndsADoubt", false,
	},
	{
		"9 a program finds the repeat's refusal and not the doubt", "internal/attempt/doubt.go",
		"(errors.Is(target, context.DeadlineExceeded) || errors.Is(target, context.Canceled)) && errors.Is(r.again, target)",
		"errors.Is(r.again, target) || target == context.Canceled",
		"./cluster", "TestOnlyAReplyEndsADoubt", false,
	},
	{
		"9 a read whose repeat was refused has an unknown outcome", "internal/engine/history.go",
		"if x.request.marks[i]&markReads == 0 {", "if x != nil {",
		"./cluster", "TestReadsLeaveNoDoubt", false,
	},
	{
		"9 an action whose first try ran in part was not sent", "internal/engine/lent.go",
		"if l.seen.wrote && !l.attempt.doubt.Any() {", "if false {",
		"./cluster", "TestDoubtAboutALentAction", false,
	},
	{
		"a command that may have run takes its EXPIRE with it", "internal/attempt/doubt.go",
		"\tif d.first != nil {\n\t\treturn Ran\n\t}", "",
		"./cluster", "TestExpiryOfADoubtfulCommand", false,
	},
	{
		"an EXPIRE that ran early was not executed", "internal/engine/retry.go",
		"x.doubt(c.Index, attempt.ErrEarly)", "_ = attempt.ErrEarly",
		"./cluster", "TestExpiryThatRanEarly", false,
	},
	{
		"a write runs behind one that was overtaken and may have run", "internal/attempt/order.go",
		"if c.Step = Stands; c.Doubt {", "if c.Step = Stands; false {",
		"./cluster", "TestDoubtfulCommandsKeepTheirOrder", false,
	},
	{
		"10 a full lane lets callers overrun their deadlines (rueidis)", "internal/wire/call.go",
		"case <-own:\n\tcase <-outer:\n\t}\n\treturn ctx.Err()", "case <-outer:\n\t}\n\treturn nil",
		"./internal/faults", "TestDeadlineAtEveryWait/full_lane", false,
	},
	{
		"10 a command refused with LOADING is not sent again (rueidis)", "internal/fate/fate.go",
		"\"LOADING\": Down, ", "",
		"./cluster", "TestRefusedForNow/LOADING", false,
	},
}
