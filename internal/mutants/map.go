package main

// ofMap are protections in package engine: of the start, and of the map of the slots.
var ofMap = []quotation{
	{
		"map: a server without cluster mode takes all slots", "internal/slots/judge.go",
		"case said.Single && (use == nil || !use.Single):", "case false:",
		"./cluster", "TestStandaloneSeed", false,
	},
	{
		"map: commands are sent to a server without cluster mode", "internal/engine/member.go",
		"case slots.ClusterDisabled(mode) || slots.ClusterDisabled(id):", "case false:",
		"./cluster", "TestStandaloneServerAtANodesAddress/fixed", false,
	},
	{
		"map: commands are sent to a node of another cluster", "internal/slots/identity.go",
		"!m.Sure || id == \"\" ||", "true || id == \"\" ||",
		"./internal/engine", "TestAdmit", false,
	},
	{
		"map: a replica is taken for its primary, whose address it shares", "internal/slots/identity.go",
		"primary && len(at.primaries) > 0", "false",
		"./cluster", "TestNameFollowsLater", false,
	},
	{
		"map: connections to another node than the address's stay in use", "internal/engine/member.go",
		"if !now.Means(addr, before) {", "if addr == \"\" {",
		"./cluster", "TestAnotherNodeAtTheAddress", false,
	},
	{
		"map: connections to the old primary stay in use behind the name that Sentinels tell", "internal/slots/identity.go",
		"|| now.Epoch == was.Epoch", "|| true",
		"./cluster", "TestSentinelsPrimaryKeepsItsName", false,
	},
	{
		"map: a node's new address is used that does not answer", "internal/engine/renamed.go",
		"now := said.Keeping(kept)", "now := said",
		"./cluster", "TestNewNameOfANode", false,
	},
	{
		"map: a node's new address is used at which another node answers", "internal/engine/renamed.go",
		"told != \"\" && told != r.ID", "told == r.From",
		"./cluster", "TestNewNameOfANode", false,
	},
	{
		"map: a node's new address is never used", "internal/engine/renamed.go",
		"if len(unreached) < len(kept) {", "if false {",
		"./cluster", "TestNewNameOfANode", false,
	},
	{
		"map: one that loses slots is believed", "internal/slots/judge.go",
		"\t\treturn lost\n", "\t\treturn NoDoubt\n",
		"./cluster", "TestOneNodeClaimsOneSlot", false,
	},
	{
		"map: one with smaller config epochs is believed", "internal/slots/judge.go",
		"< now.Epoch && now.Epoch < before.Epoch:\n\t\treturn older\n", "< now.Epoch && now.Epoch < before.Epoch:\n\t\treturn NoDoubt\n",
		"./cluster", "TestPartitionedPrimary", false,
	},
	{
		"Sentinel: one that names the old primary is believed", "internal/slots/judge.go",
		"now.Addr != before.Addr && now.Epoch <= before.Epoch", "now.Addr == \"\" && before.Addr == \"\"",
		"./internal/slots", "TestPollOfSentinels", false,
	},
	{
		"Sentinel: a server that is no primary is used", "internal/slots/sentinel.go",
		"string(name) != \"master\"", "len(name) == 0",
		"./internal/slots", "TestAdmitPrimary", false,
	},
	{
		"Sentinel: a demoted primary is dialled for ever", "internal/engine/client.go",
		"c.cfg.Sentinel != nil && !c.closed && !slices.Contains(t.Nodes, n)", "false",
		"./internal/sim/model", "TestDemotedPrimary", false,
	},
	{
		"map: one that contradicts MOVED is believed", "internal/slots/judge.go",
		"worst = max(worst, contrary)", "_ = contrary",
		"./cluster", "TestMovedOutlivesOldMaps", false,
	},
	{
		"map: another cluster's is believed", "internal/slots/judge.go",
		"case !use.knows(said):", "case false:",
		"./cluster", "TestNodeOfAnotherCluster", false,
	},
	{
		"map: who is not asked before Close has nothing against a map", "internal/engine/refresh.go",
		"if votes.Use != nil && ctx.Err() != nil {", "if false {",
		"./internal/engine", "TestCloseBelievesNothing", false,
	},
	{
		"map: another cluster's is believed behind one reset connection", "internal/slots/trust.go",
		"if p.Failed > 0 && (p.Before == nil || !p.Before.knows(newest)) {", "if false {",
		"./internal/engine", "TestResetBesideAnotherCluster", false,
	},
	{
		"map: another cluster's is believed beside servers that tell none for now", "internal/slots/trust.go",
		"if p.Withheld > 0 {", "if false {",
		"./cluster", "TestWithheldMapBesideAStranger", false,
	},
	{
		"map: what AddrMap returns for one node costs all of them", "internal/engine/ask.go",
		"case errors.As(err, &wrong):", "case errors.As(err, &wrong) && false:",
		"./cluster", "TestAddrMapHasNoAddressForANode", false,
	},
	{
		"map: a lost reply makes all nodes unknown", "internal/engine/ask.go",
		"case sure:", "case false:",
		"./internal/engine", "TestLostReplies", false,
	},
	{
		"map: a lost reply makes a replica a primary", "internal/engine/ask.go",
		"ErrNotMember)\n\t\treturn m, err\n", "ErrNotMember)\n\t\treturn m, nil\n",
		"./internal/engine", "TestLostReplies", false,
	},
	{
		"map: one server is two witnesses", "internal/slots/trust.go",
		"w.Doubt <= lost && !w.by(v) && w.Map", "w.Doubt <= lost && w.Map",
		"./internal/slots", "TestChoose", false,
	},
	{
		"map: the replica of a primary that is left out takes its slots", "internal/slots/parse.go",
		"if p.skips = append(p.skips, missing); i == 0 {", "if p.skips = append(p.skips, missing); i < 0 {",
		"./internal/slots", "TestOddRowCostsItself", false,
	},
	{
		"map: a node that speaks TLS only is dialled at port 0", "internal/slots/parse.go",
		"case port == 0:", "case port < 0:",
		"./cluster", "TestOddNodeOfAMap", false,
	},
	{
		"a redirect to a node without an address is the call's error", "internal/slots/redirect.go",
		"if port == 0 || string(host) == \"?\" {\n\t\treturn Redirect{Fate: fate.Nowhere, Slot: uint16(slot)}", "if port == 0 || string(host) == \"?\" {\n\t\treturn Redirect{}",
		"./cluster", "TestMovedToNoAddress", false,
	},
	{
		"map: an unknown outcome asks for no new one", "internal/engine/exec.go",
		"\tif !r.clean {\n\t\tc.noteOutcomes(r)\n", "\tif false {\n\t\tc.noteOutcomes(r)\n",
		"./cluster", "TestEachFailureAsksForAMap", false,
	},
	{
		"map: what fails on a node's client asks for no new one", "internal/engine/failed.go",
		"if err != nil && !saysNothing(err) {\n", "if false {\n",
		"./cluster", "TestEachFailureAsksForAMap", false,
	},
	{
		"map: a caller that leaves asks for a new one", "internal/engine/failed.go",
		"errors.Is(err, context.Canceled), ", "",
		"./cluster", "TestWhatAsksForNoMap", false,
	},
	{
		"map: the host that was dialled is translated", "internal/engine/ask.go",
		"if n.Dialled {", "if false {",
		"./cluster", "TestAddrMapIsAskedOnce", false,
	},
	{
		"map: first refreshes of a trouble are as slow as later ones", "internal/engine/refresh.go",
		"if p.quick >= 1 {", "if false {",
		"./internal/engine", "TestRefreshesAreSpaced", false,
	},
	{
		"start: a server that is loading its data is not waited for", "internal/engine/start.go",
		"errors.Is(told.Err, redislanes.ErrRefused)", "false",
		"./cluster", "TestLoadingServerIsWaitedFor", false,
	},
	{
		"start: a server with too many clients is not waited for", "internal/engine/start.go",
		" && wire.Passes(refused)", " && false",
		"./cluster", "TestTooManyClientsAtTheStart", false,
	},
	{
		"map: a storm of MOVED copies it for each slot", "internal/engine/redirect.go",
		"x.moves = append(x.moves, move{Slot: to.Slot, To: n})", "x.client.learn([]move{{Slot: to.Slot, To: n}})",
		"./cluster", "TestStormOfMovedIsCheap", false,
	},
	{
		"NoIdentity: connections ask all the same", "internal/engine/member.go",
		"\tcase c.cfg.NoIdentity:\n", "\tcase false:\n",
		"./cluster", "TestNarrowACL", false,
	},
	{
		"NoIdentity: fetches of the map ask for epochs all the same", "internal/engine/ask.go",
		"\tif !q.cfg.NoIdentity {\n", "\tif true {\n",
		"./cluster", "TestNarrowACL", false,
	},
	{
		"map: a new cluster waits for dials to nodes that swallow packets", "internal/engine/refresh.go",
		"enough, pause = time.After(strangerDoubt), 0", "_ = 0",
		"./cluster", "TestSilentClusterIsReplaced", false,
	},
	{
		"map: a new cluster is taken before nodes of ours had time to answer", "internal/engine/refresh.go",
		"strangerDoubt = 1500 * time.Millisecond", "strangerDoubt = 150 * time.Millisecond",
		"./cluster", "TestSilentClusterIsReplaced", false,
	},
}
