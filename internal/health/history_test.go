package health

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A look is due every 31.25 ms. What is sent at second 1 is seen at 1.03125 and silent for
// an unusual time at 1.28125.

// TestHistories plays what has happened to servers and pools. Most rows were found by the
// simulated world or by users, see docs/sim.md.
func TestHistories(t *testing.T) {
	for name, steps := range map[string][]step{
		// Silence.
		"nothing is in flight": {
			{0, "dial a; dialled a 1ms", ""},
			{time.Hour, "", ""},
		},
		"silence becomes a suspicion, a stall and an outage": {
			{0, "dial a; dialled a 1ms", ""},
			{1000 * ms, "send a", ""},
			{1281 * ms, "", ""},
			{1282 * ms, "", "ask, doubt a"},
			{1531 * ms, "", ""},
			{1532 * ms, "", "ask, suspect"},
			{4031 * ms, "", "ask, ask, ask, ask, ask, ask, ask, ask, ask"},
			{4032 * ms, "", "ask, stall a"},
			{4033 * ms, "lose a", "down"},
			{9000 * ms, "dial b", ""},
			{10000 * ms, "dialled b 1ms", "up"},
		},
		"a connection comes back that did not count": { // its user waited for data
			{0, "dial a; fail a refused", "down"},
			{10 * ms, "returned", "up"},
			{20 * ms, "dial b; fail b refused", "down"},
		},
		"a byte ends a suspicion": {
			{0, "dial a; dialled a 1ms", ""},
			{1000 * ms, "send a", ""},
			{1600 * ms, "reply a", "ask, doubt a, ask, suspect"},
			{1700 * ms, "", "trust a, up"},
		},
		"a byte that nobody has read yet ends it, too": {
			{0, "dial a; dialled a 1ms", ""},
			{1000 * ms, "send a", ""},
			{1600 * ms, "arrive a", "ask, doubt a, ask, suspect"},
			{60 * time.Second, "reply a", "trust a, up"},
			{120 * time.Second, "", ""},
		},
		"an answer ends it, and the next question comes later": {
			{0, "dial a; dialled a 1ms; send a", ""},
			{1 * ms, "reply a", ""},
			{1000 * ms, "send a", ""},
			{1282 * ms, "answer", "ask, doubt a"},
			{1780 * ms, "", ""},
			{1820 * ms, "answer", "ask"}, // 0.5 s
			{2815 * ms, "", ""},
			{2850 * ms, "answer", "ask"}, // 1 s
			{4345 * ms, "", ""},
			{4380 * ms, "answer", "ask"}, // half of the stall timeout, from now on
			{5910 * ms, "reply a", "ask"},
			{5950 * ms, "send a", "trust a"},
			{6230 * ms, "", "ask, doubt a"}, // as at the beginning
		},
		"a connection is silent, others are not": {
			{0, "dial a; dialled a 1ms; join b; send a", ""},
			{200 * ms, "send b; reply b", ""},
			{400 * ms, "send b; reply b", "doubt a"},
			{600 * ms, "send b; reply b", ""},
			{800 * ms, "", ""},
		},
		"what was silent is closed by somebody else": {
			{0, "dial a; dialled a 1ms; join b", ""},
			{1000 * ms, "send a", ""},
			{1300 * ms, "lose a", "ask, doubt a"},
			{60 * time.Second, "", ""},
		},
		"what was silent is closed after the server has answered for it": {
			{0, "dial a; dialled a 1ms; join b", ""},
			{1000 * ms, "send a", ""},
			{1300 * ms, "answer", "ask, doubt a"},
			{1400 * ms, "lose a", ""},
			{2000 * ms, "send b", ""},
			{2290 * ms, "", "ask, doubt b"}, // as at the beginning
		},
		"round trips usually take long": {
			{0, "dial a; dialled a 1ms; send a", ""},
			{50 * ms, "reply a", ""},
			{1000 * ms, "send a", ""},
			{2000 * ms, "", ""},
			{2040 * ms, "", "ask, doubt a"},
			{3000 * ms, "", ""},
			{3040 * ms, "", "ask, suspect"},
		},
		"unusual is no more than half of the stall timeout": {
			{0, "dial a; dialled a 1ms; send a", ""},
			{2000 * ms, "reply a", "ask, doubt a, ask, suspect, ask, ask, ask, ask, ask"},
			{3000 * ms, "send a", "trust a, up"},
			{4530 * ms, "", ""},
			{4532 * ms, "", "ask, doubt a"},
			{6032 * ms, "", "ask, suspect, stall a"},
		},
		"one connection is silent for PauseTimeout": {
			{0, "dial a; dialled a 1ms; join b; send a", ""},
			{300 * ms, "answer", "ask, doubt a"},
			{850 * ms, "answer", "ask"},
			{1900 * ms, "answer", "ask"},
			{3500 * ms, "answer", "ask"},
			{5100 * ms, "answer", "ask"},
			{6700 * ms, "answer", "ask"},
			{8300 * ms, "answer", "ask"},
			{9900 * ms, "answer", "ask"},
			{10100 * ms, "lose a", "stall a"},
			{10200 * ms, "lose b", ""}, // the batch on a was sent before the server was heard
		},
		"bytes put an idle connection that was pinged beside a silent one back": {
			{0, "dial a; dialled a 1ms; join b; send a; send b", ""},
			{300 * ms, "reply b", "ask, doubt a, doubt b"},
			{400 * ms, "", "trust b"},
		},

		// What is no silence of the server.
		"a user blocks its connection": {
			{0, "dial a; dialled a 1ms; dedicate a; send a", ""},
			{time.Hour, "", ""},
		},
		"the process was frozen": { // TestOwnFreezeIsNotTheServers
			{0, "dial a; dialled a 1ms; send a", ""},
			{100 * ms, "freeze 4s", ""},
			{110 * ms, "freeze 1h", ""},
			{120 * ms, "reply a", ""},
			{400 * ms, "", ""},
		},
		"the process was frozen when its caller gave up": {
			{0, "dial a; dialled a 1ms; send a", ""},
			{32 * ms, "freeze 1h; miss a", ""},
		},

		// Doubt.
		"a caller gives up on a silent connection": {
			{0, "dial a; dialled a 1ms", ""},
			{1000 * ms, "send a", ""},
			{1100 * ms, "miss a", "doubt a"},
			{1110 * ms, "reply a", ""},
			{1140 * ms, "", "trust a"},
		},
		"a caller gives up early, and the connection goes on to be silent": {
			{0, "dial a; dialled a 1ms", ""},
			{1000 * ms, "send a", ""},
			{1050 * ms, "miss a", ""},
			{1100 * ms, "", "doubt a"},
		},
		"all connections die silently, and new ones work": { // TestSilentDeathOfAllConnections
			{0, "dial a; dialled a 1ms; join b; join c", ""},
			{1000 * ms, "send a; send b", ""},
			{1100 * ms, "miss a; replace", "doubt a, replace a"},
			{1101 * ms, "miss b; answer; replace", "doubt b, replace a, replace b"},
			{1102 * ms, "join d; send d", ""},
			{1103 * ms, "reply d", ""},
			{1350 * ms, "", ""}, // the server was heard: it is not asked yet
		},
		"bytes have arrived that no look has seen": {
			{0, "dial a; dialled a 1ms", ""},
			{1000 * ms, "send a", ""},
			{1100 * ms, "reply a; send a; miss a", ""},
		},

		// Dials without an answer.
		"callers wait for a dial": { // TestUnansweredDialIsSilence
			{0, "dial a; dialled a 1ms; dedicate a", ""},
			{1000 * ms, "dial b; wait", ""},
			{1282 * ms, "", "ask"},
			{1532 * ms, "", "ask, suspect"},
			{1600 * ms, "dialled b 1ms", "up"},
		},
		"nobody waits for it": {
			{0, "dial a", ""},
			{time.Hour, "", ""},
		},
		"callers wait for a server that was never reached": {
			{0, "dial a; wait", ""},
			{1500 * ms, "", ""},
			{1540 * ms, "", "ask"},
			{3000 * ms, "", ""},
			{3040 * ms, "", "ask, suspect"},
		},
		"each dial that is given up is the same silence": { // TestDialsThatTimeOutBesideDedicatedConnections
			{0, "dial a; dialled a 1ms; dedicate a", ""},
			{1000 * ms, "dial b; wait", ""},
			{1100 * ms, "fail b unanswered", ""},
			{1110 * ms, "dial b", ""},
			{1210 * ms, "fail b unanswered", ""},
			{1220 * ms, "dial b", ""},
			{1320 * ms, "fail b unanswered", "ask"},
			{1330 * ms, "dial b", ""},
			{1532 * ms, "", "ask, suspect"},
		},
		"bytes arrive on what is dedicated and given back between two looks": { // TestEachUnansweredDialIsNoticed
			{0, "dial a; dialled a 1ms; dedicate a; dial b; wait", ""},
			{260 * ms, "answer; dedicate a", ""},
			{300 * ms, "", ""},
		},
		"slow commands do not excuse a dial": {
			{0, "dial a; dialled a 0.4ms; send a", ""},
			{700 * ms, "reply a", "ask, doubt a, ask, suspect"},
			{800 * ms, "dedicate a; dial b; wait", "trust a, up"},
			{1400 * ms, "", "ask, ask, suspect"},
		},

		"a handshake that waited for a silent server is nothing usual": {
			{0, "dial a; dialled a 1ms; dedicate a; dial b; dialled b 2s; dedicate b", ""},
			{1000 * ms, "dial c; wait", ""},
			{1600 * ms, "", "ask, ask, suspect"},
		},

		"nor is the only handshake, if batches are fast": {
			{0, "dial a; dialled a 2s; send a", ""},
			{1 * ms, "reply a", ""},
			{100 * ms, "dedicate a; dial c; wait", ""},
			{700 * ms, "", "ask, ask, suspect"},
		},

		// The rule of evidence.
		"a dial that was lost in an outage is given up later": {
			{0, "dial a; dialled a 1ms; dedicate a", ""},
			{1000 * ms, "dial b", ""},
			{2000 * ms, "heard", ""},
			{6000 * ms, "fail b unanswered", ""},
			{6001 * ms, "lose a", ""}, // is dialled, and callers may wait
		},
		"a dial was given up, and the server was heard later": {
			{0, "dial a; dialled a 1ms; dedicate a", ""},
			{1000 * ms, "dial b", ""},
			{6000 * ms, "fail b unanswered", ""},
			{7000 * ms, "heard", ""},
			{7001 * ms, "lose a", ""},
		},
		"a dial was given up, and the server was not heard since it was asked": {
			{0, "dial a; dialled a 1ms; dedicate a", ""},
			{1000 * ms, "heard; dial b", ""},
			{6000 * ms, "fail b unanswered", ""},
			{6001 * ms, "lose a", "down"},
		},
		"a refusal stands whatever is heard": { // TestDownTellsWhyItCannotBeDialled
			{0, "dial a; dialled a 1ms; dedicate a", ""},
			{1000 * ms, "dial b; fail b forgood", ""},
			{2000 * ms, "heard", ""},
			{2001 * ms, "lose a", "down"},
		},
		"a refusal is forgotten when nobody wants another connection": {
			{0, "dial a; dialled a 1ms; dedicate a", ""},
			{1000 * ms, "dial b; fail b refused", ""},
			{1100 * ms, "unwanted", ""},
			{60 * time.Second, "lose a", ""},
		},
		"a server that is down is wanted": {
			{0, "dial a; fail a refused", "down"},
			{100 * ms, "unwanted", ""},
		},
		"a connection that had stalled ends late": {
			{0, "dial a; dialled a 1ms; send a", ""},
			{3100 * ms, "", "ask, doubt a, ask, suspect, ask, ask, ask, ask, ask, ask, ask, ask, ask, ask, stall a"},
			{4000 * ms, "dial b; dialled b 1ms", "ask, ask, ask, up"},
			{14000 * ms, "lose a", ""},
			{15000 * ms, "lose b", ""},
		},
		"a suspect server loses its last connection": { // TestSuspectWithoutConnections
			{0, "dial a; dialled a 1ms; send a", ""},
			{600 * ms, "lose a", "ask, doubt a, ask, suspect, down"},
		},
		"a dial fails while another one is out": {
			{0, "dial a; dial b; fail a refused", ""},
			{100 * ms, "fail b refused", "down"},
		},
		"a dial fails beside a connection": {
			{0, "dial a; dialled a 1ms; dial b; fail b refused", ""},
			{100 * ms, "", ""},
		},
	} {
		t.Run(name, func(t *testing.T) { newWorld(defaults).play(t, steps) })
	}
}

// TestCause: why a server cannot be dialled says more than how a connection ended, and
// an outage that began with silence began then.
func TestCause(t *testing.T) {
	w := newWorld(defaults)
	w.play(t, []step{
		{0, "dial a; dialled a 1ms; dedicate a", ""},
		{1000 * ms, "dial b; fail b forgood", ""},
		{2000 * ms, "lose a", "down"},
	})
	require.EqualError(t, w.Failure().Err, "b forgood")
	require.Equal(t, w.now, w.Since())

	w = newWorld(defaults)
	w.play(t, []step{
		{0, "dial a; dialled a 1ms", ""},
		{1000 * ms, "send a", ""},
		{2000 * ms, "lose a", "ask, doubt a, ask, suspect, ask, down"},
	})
	require.EqualError(t, w.Failure().Err, "end of a")
	require.WithinDuration(t, w.began.Add(time.Second), w.Since(), 32*ms)
	w.play(t, []step{{3000 * ms, "dial b; fail b refused", ""}})
	require.EqualError(t, w.Failure().Err, "b refused")
	require.WithinDuration(t, w.began.Add(time.Second), w.Since(), 32*ms)
}
