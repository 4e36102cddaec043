package limit

import (
	"crypto/rand"
	"strconv"
	"sync"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/pipeline"
)

// The script adds ARGV[1] to the counter of a window. A counter that is not there gets the time to
// live ARGV[2], in milliseconds. Nothing below 0 is left: a counter that was lost has nothing to
// give back.
var counterScript = pipeline.NewScript(bucket.Once(`
local by = math.max(tonumber(ARGV[1]), -math.max(0, tonumber(redis.call("GET", KEYS[1]) or 0)))
if by > 0 then
  redis.call("SET", KEYS[1], 0, "PX", ARGV[2], "NX")
end
if by ~= 0 then
  redis.call("INCRBY", KEYS[1], string.format("%.0f", by))
end
local reply = 1
`, "1"))

// marker returns a new key in the slot of the key. Both begin with the prefix: another prefix
// may have a hash tag, which is in one slot only. It is short, however long the key is.
func marker(prefix, key string) string {
	slot, id := cluster.Slot(key), rand.Text()
	marked := func(tag int) string { return prefix + "settled:{" + strconv.Itoa(tag) + "}:" + id }
	m := marked(int(tags()[slot]))
	for i := 0; cluster.Slot(m) != slot; i++ { // the prefix has an opening brace: after 16,384 tries on average
		m = marked(i)
	}
	return m
}

// tags returns a number for each slot that chooses it as a hash tag.
var tags = sync.OnceValue(func() *[cluster.SlotCount]uint32 {
	var of [cluster.SlotCount]uint32
	for i, left := uint32(1), len(of); left > 0; i++ {
		if slot := cluster.Slot(strconv.FormatUint(uint64(i), 10)); of[slot] == 0 {
			of[slot] = i
			left--
		}
	}
	return &of
})
