package bucket

import "github.com/redislanes/redislanes/pipeline"

// The script is the generic cell rate algorithm (GCRA, ITU-T I.371, annex A). Times are in
// microseconds since 2025, by the server's clock, so that the clocks of processes need not agree.
//
// KEYS[1] holds "missing at ahead length floor back":
//   - missing: how long it took, at the time at, until the bucket was full. The sum of both is the
//     theoretical arrival time;
//   - ahead: by how much at is ahead of the server's clock. If the clock is set back, time goes on
//     from where it was;
//   - length: of a token. If the rule has changed, as many tokens are missing as before;
//   - floor and back: for returns, see below.
//
// A key that is not there is a full bucket. Nothing cuts what is missing: a bucket whose burst was
// reduced allows nothing until what is missing fits, as after a charge. So while processes with an
// old and a new rule share a bucket, it never allows more than the rule that allows more.
//
// What does not fit writes nothing, unless the clock was set back or tokens became shorter: the
// time and the new rate hold from then on. If tokens became longer, what is missing beyond the
// burst flows in at the old rate until something fits.
//
// ARGV has the length of a token, that of all tokens of the draw, that of the burst and half a
// microsecond (half a token if that is shorter) for rounding, the mode, and where the tokens to
// give back start. ARGV[7] is the time in tests. The reply has whether the tokens fit, how many
// nanoseconds the bucket needs until it is full, and the Start of what was taken.
//
// Each token taken is a stretch of a line of time, behind those of earlier tokens. The present
// passes one after another, and what it has passed is gone: a full bucket has no room for it. A
// return gives back what is still ahead, and the stretches behind move up. How far is not known of
// each. So all count as moved by the sum of all returns: back. The line of a Start is ahead by as
// much as was given back before, and the difference to back is how far it has moved at most. The
// stretches of outstanding tokens, moved so, still follow one another and end before the arrival
// time. So what each gives back is missing, and is not missing for another reason: the bucket
// never has more than it would have without these tokens. The tokens taken last move none.
//
// Nothing before the floor is given back or moves: it is when the bucket was last full or its rule
// changed, or the end of a lease, whose tokens are used before their stretches as they were when
// taken. A Start of another floor gives back nothing. The latest lease itself lowers the floor.
//
// KEYS[2], if there is one, is a marker: see once.
const text = `
local per, need, room, mode, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[7])
if not now then
  local time = redis.call("TIME")
  now = (time[1] - 1735689600) * 1000000 + time[2]
end
local missing, ahead, floor, back, scale, writes = 0, 0, now, 0, 1, false
local stored = redis.call("GET", KEYS[1])
if stored then
  local length, at
  missing, at, ahead, length, floor, back = string.match(stored, "^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$")
  now, ahead, floor, back = now + ahead, ahead + 0, floor + 0, back + 0
  local passed = now - at
  if passed < 0 then
    now, ahead, passed, writes = now - passed, ahead - passed, 0, true
  end
  missing = missing - passed
  if missing <= 0 then
    missing, floor, back = 0, now, 0
  elseif length ~= ARGV[1] then
    scale, floor, back = per / length, now, 0
    missing = math.min(missing * scale, room + 3e15) -- a hundred years
    writes = writes or scale < 1
  end
end

local fits, from = 1, 0
if mode == "return" or mode == "unlease" or mode == "last" then
  local part = 0
  if mode == "last" then part = math.min(need, now + missing - floor)
  elseif tonumber(ARGV[6]) ~= floor then part = 0
  elseif mode == "unlease" then
    part = math.min(need, floor - now, missing)
    floor = floor - math.max(part, 0)
  else part = math.min(need, ARGV[5] + need - back - now, now + missing - floor) end
  if part > 0 then
    if mode == "last" or mode == "return" and ARGV[5] + need < now + missing + back - math.min(2, per / 2) then back = back + part end
    missing, writes = missing - part, true
  end
else
  if missing + need > room then fits = 0 end
  if mode == "look" then writes = false
  elseif fits == 1 or mode == "charge" then
    from, writes = now + missing + back, true
    missing = math.min(missing + need, room + 3e15)
    if mode == "lease" then floor = math.ceil(now + missing) end
  end
end

if not writes then
  if scale > 1 and missing > room then missing = room + (missing - room) / scale end
elseif missing > 0 then
  redis.call("SET", KEYS[1], string.format("%.6f %.0f %.0f %s %.0f %.3f", missing, now, ahead, ARGV[1], floor, back), "PX", math.ceil(missing / 1000) + 1000)
elseif stored then
  redis.call("DEL", KEYS[1])
end
return {fits, math.ceil(missing * 1000), math.floor(from), floor}
`

var script = pipeline.NewScript(Once(text, "{1, 0, 0, 0}"))
