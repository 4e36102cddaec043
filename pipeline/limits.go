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
)

// The counts of the package.
const (
	// stripes is over how many locks the keys are spread, so that callers rarely wait for each other.
	stripes = 4096

	// A hit travels alone while fewer than mostAlone hits of its stripe do, or mostAloneOfOne if its call has no other
	// hit. Few callers need not wait for each other then.
	mostAlone      = 8
	mostAloneOfOne = 4

	// expiryBuckets is how many buckets of eight keys expiries have; they take 512 KiB.
	expiryBuckets = 1 << 13

	// keptHits is for how many hits the memory of a call is kept for the next one, however few
	// that has. A hit needs up to three commands.
	keptHits = wire.KeptCommands / 4
)
