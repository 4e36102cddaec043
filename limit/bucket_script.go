package limit

import "github.com/redislanes/redislanes/pipeline"

// The script of a token bucket is the generic cell rate algorithm (GCRA, ITU-T I.371,
// annex A), which also takes back what a denied call has taken. The clock is the server's, so
// that those of the processes need not agree; tests say the time themselves.
//
// A bucket is a line of time, in microseconds since 2025. A token is a stretch of the line, as
// long as it takes to flow in. The bucket is full once the present has reached the end of what
// is taken. A hit takes the next stretch, or one that was given back. What the present passes
// is gone, taken or not: a full bucket has no room for it. So no more is given back than a
// full bucket would have kept.
//
// KEYS[1] holds "end length at=time,ahead" and, if there are any, " debt=number" and " from to" for each
// stretch that was given back: the end of what is taken, the length of a token, when it was written, and
// by how much the time of the line is ahead of the clock. If the clock has gone back, the time goes on from
// where it was. After a charge, more may be taken than a full bucket has: the debt says by how much. Without
// it, the end of what is taken is no later than that of an empty bucket. If a rule with a larger burst has
// taken more, that is not forgotten: what takes nothing writes nothing.
//
// ARGV has the length of a token, the burst, the cost (negative: to give back), the time (empty: the
// server's), and where the stretch begins that is given back, or "last" for what was taken last, "look" to
// leave the bucket as it is, "charge" to take the tokens also if there are too few, or "lease" to take as
// many tokens as there are, up to the cost, but only a part of those that are left: one in ARGV[6]. They
// are to last for ARGV[7] microseconds, so their stretch lies ahead, if there is room.
//
// The reply has whether the hit is allowed, or how many tokens a lease gets; how many are left; when the hit
// may be allowed (after a charge: one token), or the stretch of a lease begins; when the bucket is full, both
// from now; and where the stretch begins that was taken.
//
// KEYS[2], if there is one, makes the script take effect once: see runOnce.
//
// Half a microsecond is for rounding, or half a token if that is shorter: a double holds hundredths of
// microseconds now, so that shorter tokens may cost nothing. Differences of times are exact: a full bucket has
// its whole burst, and no more.
const bucketText = `
local per, burst, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
  local time = redis.call("TIME")
  now = (time[1] - 1735689600) * 1000000 + time[2]
end
local half, full, need, charge = math.min(0.5, per / 2), burst * per, math.abs(cost) * per, ARGV[5] == "charge"
local last, given, kept, most = now, {}, 0, 3e15 -- kept: the sum of what was given back; most: a hundred years of debt
local stored = redis.call("GET", KEYS[1])
local same, back, off = true, false, 0
if stored then
  local top, length, at, ahead, rest = string.match(stored, "^(%S+) (%S+) at=(%S+),(%S+)(.*)")
  off = tonumber(ahead)
  back = now + off < tonumber(at)
  if back then off = tonumber(at) - now end
  now = now + off
  local scale, debt = per / tonumber(length), 0 -- 1, unless the rule has changed: then as many tokens are missing
  same = scale == 1
  last = math.max(now + (tonumber(top) - now) * scale, now)
  if rest ~= "" then debt = math.min(tonumber(string.match(rest, "debt=(%S+)") or 0) * scale, most) end
  if cost > 0 or not same then last = math.min(last, now + full + debt) end
  if rest ~= "" then
    for from, to in string.gmatch(rest, " ([%d.-]+) ([%d.-]+)") do
      from = math.max(now + (tonumber(from) - now) * scale, now)
      to = math.min(now + (tonumber(to) - now) * scale, last)
      if to > from then
        given[#given + 1] = {from, to}
        kept = kept + to - from
      end
    end
  end
end

-- At most eight stretches are kept. Two that are joined are taken to follow one
-- another, which makes the later one end earlier.
local join, trim
if cost < 0 or ARGV[5] == "lease" then
  function join(i)
    given[i][2] = math.min(given[i][2] + given[i + 1][2] - given[i + 1][1], last)
    table.remove(given, i + 1)
  end
  function trim()
    while #given > 8 do
      local nearest = 1
      for i = 2, #given - 1 do
        if given[i + 1][1] - given[i][2] < given[nearest + 1][1] - given[nearest][2] then nearest = i end
      end
      join(nearest)
    end
  end
end

local from, granted, ahead, writes = now, 1, 0, ARGV[5] ~= "look"
if cost < 0 then
  local began, to = tonumber(ARGV[5]), last
  writes = same or not began
  if began then to = math.min(began + need, last)
  else
    began = last - need
    for i = #given, 1, -1 do -- what was given back before is not given back again
      if given[i][2] > began then began = began - (given[i][2] - given[i][1]) end
    end
  end
  from = math.max(began, now)
  if writes and to > from then
    given[#given + 1] = {from, to}
    table.sort(given, function(a, b) return a[1] < b[1] end)
  end
  local i = 1
  while i < #given do
    if given[i + 1][1] <= given[i][2] + 1 then join(i) else i = i + 1 end
  end
  trim()
  local top = given[#given]
  if top and top[2] >= last - 1 then
    last = last - (top[2] - top[1])
    given[#given] = nil
  end
  kept = 0
  for _, stretch in ipairs(given) do
    kept = kept + stretch[2] - stretch[1]
  end
elseif ARGV[5] == "lease" then
  local room, lasts = full - (last - now), tonumber(ARGV[7])
  granted = math.min(cost, math.floor((room + kept + half) / per / tonumber(ARGV[6])))
  local stretch
  for i = #given, 1, -1 do -- the end of one that was given back, if enough of it is far ahead
    local fits = math.floor((given[i][2] - math.max(given[i][1], now + 1000)) / per)
    if not stretch and given[i][2] >= now + lasts and 2 * fits >= granted then
      stretch, granted = given[i], math.min(granted, fits)
    end
  end
  if not stretch then granted = math.min(granted, math.floor(room / per)) end
  need = granted * per
  if granted < 1 then
    granted, writes = 0, back
  elseif stretch then
    from, kept = stretch[2] - need, kept - need
    stretch[2] = from
  else
    from = math.max(last, now + math.min(2 * lasts, full - need))
    if from > last then
      given[#given + 1], kept = {last, from}, kept + from - last
    end
    last = from + need
    trim()
  end
  ahead = math.floor(from - now)
else
  local missing = need - (full - (last - now)) - kept
  if missing > half and not charge then
    local at, lacking = now, missing
    for _, stretch in ipairs(given) do -- nothing flows in while the present passes one
      if lacking <= stretch[1] - at then break end
      lacking, at = lacking - (stretch[1] - at), stretch[2]
    end
    granted, ahead, from, writes = 0, math.ceil(at + lacking - now), 0, writes and back
  elseif writes then
    local fits
    for i, stretch in ipairs(given) do
      if not fits and stretch[2] - stretch[1] >= need - half then fits = stretch end
    end
    if fits then
      from, kept = fits[1], kept - need
      fits[1] = from + need
    elseif missing + kept <= half then
      from, last = last, last + need
    else
      from = given[1] and given[1][1] or last
      for _, stretch in ipairs(given) do
        local part = math.min(need, stretch[2] - stretch[1])
        stretch[1], need, kept = stretch[1] + part, need - part, kept - part
      end
      last = last + need
    end
    last = math.min(last, now + full + most)
    if missing > half then
      granted, ahead = 0, math.ceil(per + last - now - full)
    end
  end
end

if writes and last > now then
  local text = string.format("%.3f %s at=%.0f,%.0f", last, ARGV[1], now, off)
  if last > now + full then text = text .. string.format(" debt=%.3f", last - now - full) end
  for _, stretch in ipairs(given) do
    if stretch[2] > stretch[1] then text = text .. string.format(" %.3f %.3f", stretch[1], stretch[2]) end
  end
  redis.call("SET", KEYS[1], text, "PX", math.ceil((last - now) / 1000) + 1000)
elseif writes and stored then
  redis.call("DEL", KEYS[1])
end
return {granted, math.max(0, math.floor((full - (last - now) + kept + half) / per)), ahead, math.ceil(last - now), math.floor(from)}
`

var bucketScript = pipeline.NewScript(runOnce(bucketText))
