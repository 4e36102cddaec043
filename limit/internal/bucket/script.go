package bucket

import (
	"strconv"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// Held is how long tokens of a [Lease] may be kept before they are used or given back.
const Held = 10 * time.Second

var heldNanos = strconv.FormatInt(int64(Held), 10)

// The script is the generic cell rate algorithm (GCRA, ITU-T I.371, annex A). The clock is the
// server's, in microseconds since 2025, so that those of the processes need not agree. Lengths of
// time are in nanoseconds, rounded up.
//
// KEYS[1] holds "missing at ahead length floor back since":
//   - missing: how long it took, at the time at, until the bucket was full. The sum of both is the
//     theoretical arrival time.
//   - ahead: by how much at is ahead of the server's clock. If that is set back, time goes on from
//     where it was.
//   - length: of a token. If the rule has changed, as many tokens are missing as before.
//   - floor, back: for returns, see below.
//   - since: when the bucket was last full or its rule changed.
//
// A key that is not there is a full bucket. Nothing cuts what is missing: a bucket whose burst was
// reduced allows nothing until what is missing fits, as after a charge. So while processes with an
// old and a new rule share a bucket, it never allows more than the larger of the rules.
//
// What does not fit writes nothing, unless the clock was set back or tokens have become shorter:
// the time and the rate hold from then on. If tokens have become longer, what a draw lacks flows in at
// the old rate. The reply says so.
//
// ARGV has the time, which is empty unless a test sets it, the length of a token, that of all tokens of the
// draw, that of the burst and a bit for rounding (half a microsecond, or half a token if that is shorter), the
// mode, and the Start of what is given back. The reply has whether the tokens fit, how long the bucket
// needs until it is full, and the Start of what was taken.
//
// Returns: tokens taken are a stretch of a line of time, behind those taken before. The present
// passes one after the other, and a full bucket has no room for what it has passed. So only what is
// still ahead is given back, and the stretches behind it move up. How far each has moved is not
// known, but at most by what was given back since it was taken, and not to before the time when it
// was taken. back is the sum of all that was given back, and a Start is ahead by the sum as it was.
// So no more is taken off than what is really ahead of the stretch. The stretches that are out
// follow one another and end before the arrival time. So the bucket never has more than without the
// tokens that came back: either it was not full since, and all of them are missing, or it was, and
// then all that is ahead is. What was taken last moves nothing.
//
// Nothing before the floor moves: that is when the bucket was last full or its rule changed, or the
// end of a lease. Leases use each token before the present would have passed it, had it not moved.
// The latest lease itself lowers its floor. A Start of another floor gives back tokens only if they are
// ahead by more than [Held], and taken since the bucket was full: until the present comes there, all
// leases of today have ended, and so none has tokens on the place of those that came back.
var text = `
local held = ` + heldNanos + `
local per, need, room, mode, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[1])
if not now then
  local time = redis.call("TIME")
  now = (time[1] - 1735689600) * 1000000 + time[2]
end
local missing, ahead, floor, back, since, scale, writes = 0, 0, now, 0, now, 1, false
local stored = redis.call("GET", KEYS[1])
if stored then
  local at, length
  missing, at, ahead, length, floor, back, since = string.match(stored, "^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$")
  now, ahead, floor, back, since = now + ahead, ahead + 0, floor + 0, back + 0, since + 0
  local passed = now - at
  if passed < 0 then
    now, ahead, passed, writes = now - passed, ahead - passed, 0, true
  end
  missing = missing - passed * 1000
  if missing <= 0 then
    missing, floor, back, since = 0, now, 0, now
  elseif length ~= ARGV[2] then
    scale, floor, back, since = per / length, now, 0, now
    missing = math.ceil(math.min(missing * scale, room + 3e18)) -- a hundred years
    writes = writes or scale < 1
  end
end

local fits, from, part = 1, 0, 0
if mode == "last" then
  part = math.min(need, missing - math.max(floor - now, 0) * 1000)
  back = math.ceil(back + math.max(part, 0))
elseif mode == "return" or mode == "unlease" then
  if tonumber(ARGV[8]) ~= floor then
    if (ARGV[6] - now) * 1000 - back >= held and tonumber(ARGV[9]) == since then
      part = math.min(need, missing)
      back = math.ceil(back + part)
    end
  elseif mode == "unlease" then
    part = math.max(0, math.min(need, (floor - now) * 1000, missing))
    floor, back = floor - math.floor(part / 1000), math.ceil(back + part)
  else
    local stop = math.max((ARGV[6] - now) * 1000 - back, (ARGV[7] - now) * 1000) + need
    part = math.min(need, stop, missing - math.max(floor - now, 0) * 1000)
    if part > 0 and stop < missing - math.min(2000, per / 2) then back = math.ceil(back + part) end
  end
else
  if missing + need > room then fits = 0 end
  if mode == "look" then writes = false
  elseif fits == 1 or mode == "charge" then
    from, writes = math.floor(now + (missing + back) / 1000), true
    missing = math.ceil(math.min(missing + need, room + 3e18))
    if mode == "lease" then floor = math.ceil(now + missing / 1000) end
  end
end
if part > 0 then missing, writes = math.ceil(missing - part), true end

if not writes then
  if scale > 1 and fits == 0 then
    local lacking = missing + need - room + math.min(500, per / 2)
    missing = math.ceil(missing - lacking + lacking / scale)
  end
elseif missing > 0 then
  redis.call("SET", KEYS[1], string.format("%d %d %d %s %d %d %d", missing, now, ahead, ARGV[2], floor, back, since), "PX", math.ceil(missing / 1000000) + 1000)
elseif stored then
  redis.call("DEL", KEYS[1])
end
local reply = {fits, missing, from, now, floor, since}
`

var script = pipeline.NewScript(Once(text, "{1, 0, 0, 0, 0, 0}"))

// MarkerTime is how long a marker is kept.
const MarkerTime = time.Minute

// Once returns a script that runs the text and replies with its local variable reply. With a
// marker in KEYS[2] it runs the text at most once in MarkerTime: the first run leaves the marker,
// and later ones reply with done. So the script can be sent again after an unknown outcome. Server,
// replicas and failovers treat both keys as one write. A text that fails leaves no marker.
func Once(text, done string) string {
	return `if KEYS[2] and redis.call("GET", KEYS[2]) then return ` + done + " end" + text +
		`if KEYS[2] then redis.call("SET", KEYS[2], "", "PX", ` + strconv.FormatInt(MarkerTime.Milliseconds(), 10) + `) end
return reply`
}
