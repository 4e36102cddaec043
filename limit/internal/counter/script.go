package counter

import "github.com/redislanes/redislanes/pipeline"

// The script counts ARGV[1] hits in KEYS[1] if they fit under ARGV[2], with the share of what KEYS[2] has. If
// ARGV[1] is negative, it gives hits back if KEYS[1] has as many.
//
// The share is ARGV[7] if KEYS[2] has ARGV[6], else ARGV[5] of what it has: that may be one hit too much,
// because doubles are not exact. A new key lives for ARGV[3] seconds, and unless ARGV[4] is true also one that
// has no time to live. The reply is the total, whether the hits are counted, and the total before. A total is
// 2^62 at most: larger numbers may overflow in a reply.
const fittingText = `
local call, n = redis.call, tonumber(ARGV[1])
local old, used, before, share = call("GET", KEYS[1]), 0, 0, 0
if old then
  used = math.min(math.max(0, tonumber(old)), 2^62)
end
if KEYS[2] then
  before = math.min(math.max(0, tonumber(call("GET", KEYS[2]) or 0)), 2^62)
  share = before == tonumber(ARGV[6]) and ARGV[7] or math.floor(before * ARGV[5])
end
if used + n < 0 or n > 0 and used + share + n > tonumber(ARGV[2]) then
  return {used, 0, before}
end
if not old then
  call("SET", KEYS[1], ARGV[1], "EX", ARGV[3])
  return {n, 1, before}
end
used = math.min(call("INCRBY", KEYS[1], ARGV[1]), 2^62)
if ARGV[4] ~= "true" and call("PTTL", KEYS[1]) < 0 then
  call("EXPIRE", KEYS[1], ARGV[3])
end
return {used, 1, before}
`

var fittingScript = pipeline.NewScript(fittingText)
