package pipeline

import (
	"time"

	"github.com/redislanes/redislanes/internal/wire"
)

// The times of the package.
const (
	// A key is believed to have its time to live for mostRemembered at most, and for one part
	// in rememberedPart of the time that it has left: others may take it away meanwhile.
	mostRemembered = 10 * time.Second
	rememberedPart = 2

	// expiryTick is the unit in which expiries keep times: 32 bits of it are 497 days.
	expiryTick = 10 * time.Millisecond

	// tellEachAfter is how long merged hits of several nodes wait for each other. After it the hits of
	// each node return when it has replied. If the delivery reads its replies by itself, that may be 10 ms
	// later for each silent node. Without the wait, hits that come back travel in smaller deliveries: with
	// 1,000 callers on ten keys of three nodes, the callers made 5 to 13 % fewer calls.
	tellEachAfter = 5 * time.Millisecond

	// A timer that is made for later use is set to neverYet, and stopped at once.
	neverYet = time.Hour

	// lateAfter is how long merged hits must have been under way before others pass them. A caller
	// with less time than that does not keep the hits of others from merging.
	lateAfter = 20 * time.Millisecond
)

// The counts of the package.
const (
	// counterShards is over how many locks the keys that are being counted are spread, so that
	// callers rarely wait for each other.
	counterShards = 64

	// mostBeside is how many sums of one key may be under way at a time while each has one hit.
	// Few callers need not wait for each other then: with eight of them, which hit ten keys
	// a call and share five, Counters made 0.9 times the calls of pipelines for 1.8 times the
	// processor time, and make 1.1 times for 1.3. Once a sum has several hits there is one
	// at a time, so that hits gather: with 100 callers two or three were no faster.
	mostBeside = 8

	// mostYields bounds how often a delivery lets others run before it leaves, for hits on its
	// keys that keep coming.
	mostYields = 64

	// expiryBuckets is how many buckets of eight keys expiries have; they take 512 KiB.
	expiryBuckets = 1 << 13

	// fewestChains is how many chains a shard begins with. It has at least twice as many as
	// keys, and up to keptChains however few keys are left: 4 KiB. Powers of two.
	fewestChains = 16
	keptChains   = 512

	// keptHits is for how many hits the memory of a call is kept for the next one, however few
	// that has. A hit needs up to three commands.
	keptHits = wire.KeptCommands / 4
)
