package main

// ofLanes are protections in package lanes and in what it stands on: commands,
// replies and guarded calls.
var ofLanes = []quotation{
	{
		"bytes are written behind a hole in the stream", "internal/wire/write.go",
		"\tfirst := l.failLocked(err)\n\tl.mu.Unlock()\n\tl.end(first)\n", "\tl.mu.Unlock()\n\tl.Fail(err)\n",
		"./internal/wire", "TestNothingIsWrittenBehindAHole", false,
	},
	{
		"a command is written to a connection that was closed while it was idle", "internal/wire/lane.go",
		"gone := l.hungUp()", "var gone error",
		"./pool", "TestClosedWhileIdle", false,
	},
	{
		"bytes that nobody reads hide the end of an idle connection", "internal/wire/socket_unix.go",
		"n <= 0 || halfClosed(fd)", "n <= 0",
		"./pool", "TestClosedWhileIdle", false,
	},
	{
		"the kernel waits for an acknowledgement for a quarter of an hour", "internal/wire/dial.go",
		", Control: limitUnacknowledged(d.WriteTimeout)", "",
		"./internal/wire", "TestUnacknowledgedBytesAreLimited", false,
	},
	{
		"deadlines of any connection are relied on", "internal/wire/relay.go",
		"if newSocket(conn) != nil {", "if true {",
		"./internal/wire", "TestCallersLeaveConnectionsWithoutDeadlines", false,
	},
	{
		"closing waits for a connection that does not end", "internal/wire/relay.go",
		"go func() { _ = r.conn.Close() }() })", "_ = r.conn.Close() })",
		"./internal/wire", "TestStubbornConnectionsAreLeftBehind", false,
	},
	{
		"a deadline that the connection made is waited for again and again", "internal/wire/relay.go",
		"\t\terr = endError{err}\n", "",
		"./internal/wire", "TestRelayEndsWithItsConnection", false,
	},
	{
		"a dial waits for a function that does not end", "internal/wire/dial.go",
		"if d.foreign {", "if false {",
		"./internal/wire", "TestDialEndsWithItsContext", false,
	},
	{
		"idle lanes keep large buffers", "internal/wire/lane.go",
		"\t\tl.wbuf, l.spare = shrink(l.wbuf), shrink(l.spare)\n", "",
		"./internal/wire", "TestWriteBuffersShrink", false,
	},
	{
		"a handshake that was cut off counts as refused", "internal/wire/handshake.go",
		"if refused := d.refusal(s, reply); !s.need.spares(fate.Of(resp.ErrorText(reply))) {", "if refused := d.refusal(s, reply); fate.Of(nil) >= 0 {",
		"./internal/wire", "TestBrokenHandshakeIsNoRefusal", false,
	},
	{
		"an optional step that is refused for now counts as unsupported", "internal/wire/handshake.go",
		"n >= should && f.Unsupported() ||", "n >= should ||",
		"./internal/wire", "TestRefusedSteps", false,
	},
	{
		"attributes reach the decoder, which recurses for each", "internal/wire/decode.go",
		"\treplies = resp.WithoutAttributes(replies)\n", "",
		"./internal/wire", "TestDeepRepliesAreDecoded", false,
	},
	{
		"small requests queue behind large replies", "lanes/strategy.go",
		"used < firstFitDepth && !s.LargeReply(i)", "used < firstFitDepth",
		"./internal/wire", "TestFirstFitAvoidsLargeReplies", false,
	},
	{
		"an upload over a slow link is taken for silence", "internal/wire/write.go",
		"\t\tl.progress.Add(1) // room for it became free: the other side takes bytes\n", "",
		"./internal/nodepool", "TestSteadyUploadIsNotSilence", false,
	},
	{
		"what TLS writes overtakes what waits for room", "internal/wire/socket.go",
		"!s.flushing && len(s.rest) == 0", "!s.flushing",
		"./internal/wire", "TestTLSSocketKeepsItsOrder", false,
	},
	{
		"what TLS writes overtakes a write that waits", "internal/wire/socket.go",
		"!s.flushing && len(s.rest) == 0", "len(s.rest) == 0",
		"./internal/wire", "TestTLSSocketBehindAWriteThatWaits", false,
	},
	{
		"a write has the deadline of one that has waited", "internal/wire/write.go",
		"\t_ = l.conn.SetWriteDeadline(time.Time{})\n", "",
		"./internal/wire", "TestWriteDeadlineIsTakenBack", false,
	},
	{
		"bytes over TLS that failed are reported as not sent", "internal/wire/write.go",
		"\t\tn = to // TLS may have sent more than it says\n", "\t\tif err == nil {\n\t\t\tn = to\n\t\t}\n",
		"./internal/wire", "TestFailedWriteOverTLSIsUnknown", false,
	},
	{
		"a blocking command holds up a lane of a pool", "internal/wire/request.go",
		"if lender, ok := to.(Lender); ok {", "if lender, ok := to.(Lender); ok && r == nil {",
		"./internal/nodepool", "TestDoLendsToWhatBlocks", false,
	},
	{
		"what gets no reply goes over a connection of others", "internal/wire/request.go",
		"\t\tcase command.Held:\n\t\t\treturn r.Refused()\n", "",
		"./internal/nodepool", "TestDoRefusesWhatChangesAConnection", false,
	},
	{
		"batches on lanes that broke stay part of the load", "internal/wire/close.go",
		"\t\t\tl.load.remove(1)\n", "\t\t\tl.load.remove(0)\n",
		"./internal/nodepool", "TestLostLanesAreNoLoad", false,
	},
	{
		"start: an address that holds a password is printed", "internal/wire/dial.go",
		"return errNoAddr", "return nil",
		"./cluster", "TestAddressesWithPasswords", false,
	},
	{
		"a second look after the context's end misses a batch", "internal/wire/call.go",
		"return c.pending.Add(1) == 1, err", "if err != nil {\n\t\treturn false, err\n\t}\n\treturn c.pending.Add(1) == 1, err",
		"./cluster", "TestSequentialDeadline", false,
	},
	{
		"redirects wait for the replies of other nodes", "internal/wire/call.go",
		"left > 0 && !c.alarm.Swap(false);", "left > 0;",
		"./cluster", "TestNoBarrierBetweenNodes", false,
	},
	{
		"a panic of a user's function ends the process", "internal/guard/guard.go",
		"if v := recover(); v != nil {", "if v := any(nil); v != nil {",
		"./internal/nodepool", "TestPanickingCallbacks", false,
	},
	{
		"a reply that is nested too deep closes a shared lane", "internal/resp/framer.go",
		"\tf.refuse(TooDeep)\n", "\tif f != nil {\n\t\treturn ErrProtocol\n\t}\n",
		"./internal/wire", "TestTooDeepEndsThatCommandOnly", false,
	},
	{
		"attributes without end", "internal/resp/framer.go",
		"f.attributes > f.limits.Attributes {", "false {",
		"./internal/wire", "TestTooDeepEndsThatCommandOnly/attributes", false,
	},
	{
		"WAIT answers for a connection that wrote nothing", "internal/command/rows.go",
		"\t{Awaits, `WAIT WAITAOF`},\n", "",
		"./cluster", "TestWaitAmongItsWrites", false,
	},
	{
		"XREAD without BLOCK cannot be pipelined", "pipeline/capture.go",
		"!pipelined && radix.DefaultActionProperties(resp.CommandName(c.request[from:])).CanPipeline {", "!pipelined {",
		"./cluster", "TestAllPathsAgree", false,
	},
	{
		"XREAD without BLOCK is lent a connection", "internal/wire/request.go",
		"if !radix.DefaultActionProperties(resp.CommandName(r.encoded[from:to])).CanShareConn {", "if from > to {",
		"./cluster", "TestAllPathsAgree", false,
	},
	{
		"a program's word that a command cannot share its connection is ignored", "internal/wire/request.go",
		"\tr.traits |= command.Blocking\n", "",
		"./cluster", "TestTheProgramsWordCounts", false,
	},
	{
		"a script that the server does not know yet has failed", "internal/engine/observation.go",
		"if r.probes && saysNoScript(reply) {", "if false {",
		"./cluster", "TestUnknownScriptIsNoFailure", false,
	},
	{
		"a script that a node does not know yet has failed", "internal/engine/observe_node.go",
		"if o.probes && info.Code == noScriptCode {", "if false {",
		"./cluster", "TestUnknownScriptIsNoFailure", false,
	},
	{
		"EVALSHA of a program's own never fails", "internal/wire/conn.go",
		"return !p.CanPipeline && p.CanShareConn", "return p.CanShareConn",
		"./cluster", "TestUnknownScriptIsNoFailure", false,
	},
	{
		"a blocking command that radix does not know holds up a shared lane", "internal/command/rule.go",
		"\tcase t&Blocking != 0:\n\t\treturn Alone\n", "",
		"./cluster", "TestBlockingCommandsAreLentAConnection", false,
	},
	{
		"error replies are not counted", "internal/wire/measure.go",
		"if b.errors > 0 && l.errorReplies != nil && !b.uncounted {", "if false {",
		"./internal/wire", "TestErrorRepliesAreCounted", false,
	},
	{
		"replies that we refuse count as the server's errors", "internal/wire/measure.go",
		"!resp.IsRefusal(text)", "true",
		"./internal/wire", "TestRefusalsOfOurOwnAreNotCounted", false,
	},
	{
		"refused PINGs count as errors of commands", "internal/wire/measure.go",
		" && !b.uncounted {", " {",
		"./internal/wire", "TestErrorRepliesOfPingsAreNotCounted", false,
	},
	{
		"each failed dial is a line in the log", "internal/guard/journal.go",
		"now.Sub(t.last) < spacing", "t.events < 0",
		"./internal/guard", "TestThrottle", false,
	},
	{
		"lines for a log that does not return take memory without end", "internal/guard/journal.go",
		"case len(j.lines) >= maxLines:", "case false:",
		"./internal/guard", "TestJournalOfAStuckLog", false,
	},
	{
		"what has gathered waits for others for ever", "internal/wire/write.go",
		"\tif completed == 0 {\n", "\tif completed >= 0 {\n",
		"./internal/wire", "TestBatchesGather", false,
	},
	{
		"batches gather on their way to far servers", "internal/wire/write.go",
		"shortest > 0 && shortest < int64(nearTrip)", "shortest >= 0",
		"./internal/wire", "TestNothingGathers", false,
	},
	{
		"a writer does not let others gather", "internal/wire/write.go",
		"if l.err != nil || !l.gatheredLocked() {", "if l.err != nil || len(l.wbuf) == 0 {",
		"./internal/wire", "TestWritersLetOthersGather", false,
	},
	{
		"credentials that are refused once are given up", "internal/wire/handshake.go",
		"if d.mayChange && ofCredentials(s, e) {", "if false {",
		"./cluster", "TestRefusedCredentialsAreAskedForAgain|TestNewAsksForCredentialsAgain", false,
	},
	{
		"a wrong password is tried again and again", "internal/wire/dial.go",
		"\t\t\t\t*mayChange = false\n", "\t\t\t\t_ = mayChange\n",
		"./cluster", "TestPasswordThatIsWrongIsFinal", false,
	},
}
