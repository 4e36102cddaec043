package counter

import (
	"strconv"

	"github.com/redislanes/redislanes/pipeline"
)

// The script counts ARGV[1] hits in KEYS[1] if they fit under ARGV[2], with the share of what KEYS[2] has.
// The share is ARGV[7] if KEYS[2] has ARGV[6], else ARGV[5] of what it has: that may be one hit too much,
// because doubles are not exact. A new key lives for ARGV[3] seconds, and with an ARGV[4] also one that has no
// time to live. The reply is the total, whether the hits are counted, and the total before. A total is 2^62 at
// most: larger numbers may overflow in a reply.
const fittingText = `
local call = redis.call
local old, used, before, share = call("GET", KEYS[1]), 0, 0, 0
if old then
  used = math.min(math.max(0, tonumber(old)), 2^62)
end
if KEYS[2] then
  before = math.min(math.max(0, tonumber(call("GET", KEYS[2]) or 0)), 2^62)
  share = before == tonumber(ARGV[6]) and ARGV[7] or math.floor(before * ARGV[5])
end
if used + share + ARGV[1] > tonumber(ARGV[2]) then
  return {used, 0, before}
end
if not old then
  call("SET", KEYS[1], ARGV[1], "EX", ARGV[3])
  return {tonumber(ARGV[1]), 1, before}
end
used = math.min(call("INCRBY", KEYS[1], ARGV[1]), 2^62)
if ARGV[4] ~= "" and call("PTTL", KEYS[1]) < 0 then
  call("EXPIRE", KEYS[1], ARGV[3])
end
return {used, 1, before}
`

// The script takes ARGV[1] hits from KEYS[1] if it has as many. The reply is the total, and whether it has.
const backText = `
local used = math.min(math.max(0, tonumber(redis.call("GET", KEYS[1]) or 0)), 2^62)
if used < tonumber(ARGV[1]) then
  return {used, 0}
end
return {math.min(redis.call("INCRBY", KEYS[1], "-" .. ARGV[1]), 2^62), 1}
`

var (
	fittingScript = pipeline.NewScript(fittingText)
	backScript    = pipeline.NewScript(backText)
)

func (t *Take) appendScript(p *pipeline.Pipeline) {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	check := ""
	if t.check {
		check = "check"
	}
	keys, args := append(make([]string, 0, 2), t.Key), append(make([]string, 0, 7), number(t.N), number(t.Bound), number(t.seconds()), check)
	if t.Before != "" {
		ratio := float64(max(0, min(t.Left, t.Length))) / float64(t.Length) * (1 + 0x1p-50)
		keys = append(keys, t.Before)
		args = append(args, strconv.FormatFloat(ratio, 'g', 17, 64), number(t.UsedBefore), number(t.share(t.UsedBefore)))
	}
	t.main = p.Eval(fittingScript, keys, args...).Fast()
}
