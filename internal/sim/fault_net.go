package sim

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// networkKinds are what networks do.
func networkKinds() []kind {
	const tick = 10 * time.Millisecond
	return []kind{
		{name: "latency", weight: 3, least: time.Second, most: 15 * time.Second, begin: latency},
		{name: "thin link", weight: 3, least: time.Second, most: 10 * time.Second, begin: thinLink},
		{name: "stall", weight: 4, least: 200 * time.Millisecond, most: 12 * time.Second, mute: true, begin: imposed(simnet.Conditions{Stall: simnet.Both})},
		{name: "silence", weight: 2, least: 200 * time.Millisecond, most: 12 * time.Second, mute: true, begin: imposed(simnet.Conditions{Stall: simnet.ToClient})},
		{name: "partition", weight: 3, least: 200 * time.Millisecond, most: 12 * time.Second, after: redials, mute: true, begin: imposed(simnet.Conditions{Partition: simnet.Both})},
		{name: "half partition", weight: 3, least: 200 * time.Millisecond, most: 12 * time.Second, after: redials, mute: true, begin: halfPartition},
		{name: "cut", weight: 3, least: tick, most: tick, begin: cut},
		{name: "cut at a byte", weight: 5, least: 100 * time.Millisecond, most: 5 * time.Second, begin: cutAtByte},
		{name: "half open", weight: 3, least: 200 * time.Millisecond, most: 12 * time.Second, begin: halfOpen},
		{name: "slow connection", weight: 4, least: 200 * time.Millisecond, most: 12 * time.Second, begin: slowConnection},
		{name: "refusal", weight: 2, least: time.Second, most: 10 * time.Second, begin: imposed(simnet.Conditions{Refuse: true})},
		{name: "gone", weight: 5, least: 200 * time.Millisecond, most: 12 * time.Second, mute: true, begin: cutOff(simnet.Conditions{Refuse: true})},
		{name: "unreachable", weight: 2, least: 200 * time.Millisecond, most: 12 * time.Second, after: redials, mute: true, begin: cutOff(simnet.Conditions{Blackhole: true})},
		{name: "slow dials", weight: 2, least: time.Second, most: 10 * time.Second, begin: slowDials},
		{name: "hang-ups", weight: 3, least: time.Second, most: 10 * time.Second, mute: true, begin: hangUps},
	}
}

// redials is how long TCP itself may take until a dial without an answer is tried
// again.
const redials = 3 * time.Second

// draws returns the source of what a fault chooses.
func (f Fault) draws() *rand.Rand { return rand.New(rand.NewPCG(f.With, 1)) }

func (w *world) host(f Fault) string { return w.addrs[f.Node%len(w.addrs)] }

func (w *world) impose(f Fault, c simnet.Conditions) func() { return w.net.Impose(us, w.host(f), c) }

// imposed is a fault that is nothing but conditions of one host.
func imposed(c simnet.Conditions) func(w *world, f Fault) func() {
	return func(w *world, f Fault) func() { return w.impose(f, c) }
}

func latency(w *world, f Fault) func() {
	r := f.draws()
	return w.impose(f, simnet.Conditions{Latency: time.Duration(r.Int64N(int64(300 * time.Millisecond))), Jitter: time.Duration(r.Int64N(int64(100 * time.Millisecond)))})
}

func thinLink(w *world, f Fault) func() {
	return w.impose(f, simnet.Conditions{Bandwidth: 5_000 + int(f.With%200_000)})
}

func halfPartition(w *world, f Fault) func() {
	return w.impose(f, simnet.Conditions{Partition: oneOf(f.draws(), simnet.ToServer, simnet.ToClient)})
}

func cut(w *world, f Fault) func() {
	w.net.Cut(us, w.host(f), oneOf(f.draws(), 0.5, 1))
	return nothing
}

func cutAtByte(w *world, f Fault) func() {
	bytes := 1 + int(f.With%3000)
	if f.With>>16&1 == 0 {
		return w.impose(f, simnet.Conditions{CutToServer: bytes})
	}
	return w.impose(f, simnet.Conditions{CutToClient: bytes})
}

// halfOpen ends with a reset: without PINGs nobody would find out.
func halfOpen(w *world, f Fault) func() {
	w.net.Vanish(us, w.host(f), oneOf(f.draws(), 0.5, 1))
	return func() { w.net.Cut(us, w.host(f), 1) }
}

// slowConnection makes replies late on one connection, while all others are well.
func slowConnection(w *world, f Fault) func() {
	return w.net.SlowUsed(us, w.host(f), time.Duration(1+f.With%uint64(2*time.Second)))
}

// cutOff cuts the connections of a host and imposes the conditions on it.
func cutOff(c simnet.Conditions) func(w *world, f Fault) func() {
	return func(w *world, f Fault) func() {
		lift := w.impose(f, c)
		w.net.Cut(us, w.host(f), 1)
		return lift
	}
}

func slowDials(w *world, f Fault) func() {
	return w.impose(f, simnet.Conditions{SlowDial: time.Duration(f.With % uint64(2*time.Second))})
}

func hangUps(w *world, f Fault) func() {
	after := 1 + time.Duration(f.With>>2%uint64(100*time.Millisecond)) // it never gets anywhere, or lives for a few round trips
	if f.With%2 == 0 {                                                 // nearly as soon as the handshake is over
		after = 3*w.settings.Terms.RoundTrip + time.Duration(f.With>>2%uint64(3*time.Millisecond))
	}
	return w.impose(f, simnet.Conditions{HangUpAfter: after})
}
