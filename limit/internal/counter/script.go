package counter

import (
	"strconv"

	"github.com/redislanes/redislanes/pipeline"
)

// The script counts ARGV[1] hits in KEYS[1] if they fit under ARGV[2], with the share of what KEYS[2] has.
// The share is ARGV[6] if KEYS[2] has ARGV[5], else ARGV[4] of what it has: that may be one hit too much,
// because doubles are not exact. A key without a time to live gets ARGV[3] seconds. The reply is the total,
// whether the hits are counted, and the total before. A total counts as 2^62 at most: larger numbers may
// overflow in a reply.
const fittingText = `
local function number(value) return math.min(math.max(0, tonumber(value or 0)), 2^62) end
local old = redis.call("GET", KEYS[1])
local used, before = number(old), KEYS[2] and number(redis.call("GET", KEYS[2])) or 0
local share = before == tonumber(ARGV[5]) and tonumber(ARGV[6]) or math.floor(before * tonumber(ARGV[4]))
if used + share + tonumber(ARGV[1]) > tonumber(ARGV[2]) then
  return {used, 0, before}
end
if not old then
  redis.call("SET", KEYS[1], ARGV[1], "EX", ARGV[3])
  return {tonumber(ARGV[1]), 1, before}
end
used = redis.call("INCRBY", KEYS[1], ARGV[1])
if redis.call("PTTL", KEYS[1]) < 0 then
  redis.call("EXPIRE", KEYS[1], ARGV[3])
end
return {used, 1, before}
`

// The script takes ARGV[1] hits from KEYS[1] if it has as many. The reply is the total, and whether it has.
const backText = `
local used = math.min(math.max(0, tonumber(redis.call("GET", KEYS[1]) or 0)), 2^62)
if used < tonumber(ARGV[1]) then
  return {used, 0}
end
return {redis.call("INCRBY", KEYS[1], "-" .. ARGV[1]), 1}
`

var (
	fittingScript = pipeline.NewScript(fittingText)
	backScript    = pipeline.NewScript(backText)
)

func (t *Take) appendScript(p *pipeline.Pipeline) {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	keys, args := []string{t.Key}, []string{number(t.N), number(t.Bound), number(t.seconds())}
	if t.Before != "" {
		ratio := float64(max(0, min(t.Left, t.Length))) / float64(t.Length) * (1 + 0x1p-50)
		keys = append(keys, t.Before)
		args = append(args, strconv.FormatFloat(ratio, 'g', 17, 64), number(t.UsedBefore), number(t.share(t.UsedBefore)))
	} else {
		args = append(args, "0", "0", "0")
	}
	t.main = p.Eval(fittingScript, keys, args...).Fast()
}
