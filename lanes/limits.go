package lanes

import (
	"fmt"
	"time"
)

const (
	// leastKeepAlive is the least KeepAlive: kernels count whole seconds.
	leastKeepAlive = time.Second

	// firstFitDepth is how many batches FirstFit lets queue on a lane. With 1,000
	// callers 512 made up to 1.4 times the requests of 128 and as many with 100
	// (BenchmarkLanes).
	firstFitDepth = 512
)

// The most that each of the [Limits] may be.
const (
	mostBulk       = 64 << 30
	mostElements   = 1 << 30
	mostLine       = 1 << 30
	mostReply      = 64 << 30
	mostAttributes = 1 << 30

	// mostDepth bounds the stack of radix's decoder. It recurses for each level, which takes 1 to
	// 2 KiB: 8 MiB in all, of the 1 GiB that Go allows.
	mostDepth = 4096
)

// Limits bound the cost of one reply. A zero field takes its default. A reply beyond a limit
// closes its lane, except for Depth and Attributes: such a reply is read to its end and dropped.
// Its command has run, and gets an error reply that begins with TOODEEP or TOOMANY. Attributes
// are not decoded.
type Limits struct {
	Bulk       int64 // bytes of one bulk string; default 512 MiB, as proto-max-bulk-len of Redis; at most 64 GiB
	Elements   int64 // elements of one aggregate; default 16 Mi, at most 1 Gi
	Line       int64 // bytes of one simple string, number or error; default 64 KiB, at most 1 GiB
	Reply      int64 // bytes of one whole reply; default 1 GiB, at most 64 GiB
	Depth      int   // nesting of aggregates; default 1,024, at most 4,096
	Attributes int64 // attributes of RESP3 in one reply; default 1 Mi, at most 1 Gi
}

// validate returns an error that names the first field out of range.
func (l Limits) validate() error {
	for _, f := range []struct {
		name        string
		value, most int64
	}{
		{"Bulk", l.Bulk, mostBulk}, {"Elements", l.Elements, mostElements}, {"Line", l.Line, mostLine},
		{"Reply", l.Reply, mostReply}, {"Depth", int64(l.Depth), mostDepth}, {"Attributes", l.Attributes, mostAttributes},
	} {
		if f.value < 0 {
			return fmt.Errorf("Limits.%s = %d: must not be negative", f.name, f.value) //nolint:staticcheck // ST1005: the name of a field
		}
		if f.value > f.most {
			return fmt.Errorf("Limits.%s = %d: must be at most %d", f.name, f.value, f.most) //nolint:staticcheck // ST1005: the name of a field
		}
	}
	return nil
}
