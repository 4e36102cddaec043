package limit

import (
	"crypto/rand"
	"strconv"
	"sync"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// runOnce returns a script that runs the text. With a marker in KEYS[2] it runs it at most
// once in markerTime: the first run leaves the marker. So the script can be sent again after an
// unknown outcome. Server, replicas and failovers treat both keys as one write. A text that
// fails leaves none.
func runOnce(text string) string {
	return `if KEYS[2] and redis.call("GET", KEYS[2]) then return {1, 0, 0, 0, 0} end
local function run()` + text + `end
local reply = run()
if KEYS[2] then redis.call("SET", KEYS[2], "", "PX", ` + strconv.FormatInt(markerTime.Milliseconds(), 10) + `) end
return reply`
}

// The script of a window's counter adds ARGV[1] to KEYS[1]. A counter that is not there gets
// the time to live ARGV[2], in milliseconds. Nothing below 0 is left: a counter that was lost
// has nothing to give back. The reply has as many numbers as that of a bucket.
const counterText = `
local by = ARGV[1]
if tonumber(by) > 0 then
  redis.call("SET", KEYS[1], 0, "PX", ARGV[2], "NX")
else
  local there = tonumber(redis.call("GET", KEYS[1]) or 0)
  if there <= 0 then return {1, 0, 0, 0, 0} end
  if there < -tonumber(by) then by = string.format("%.0f", -there) end
end
redis.call("INCRBY", KEYS[1], by)
return {1, 0, 0, 0, 0}
`

var counterScript = pipeline.NewScript(runOnce(counterText))

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
