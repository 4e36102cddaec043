package limit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// The script of a token bucket is the generic cell rate algorithm (GCRA, ITU-T
// I.371, annex A). Its key holds the theoretical arrival time: when the bucket will
// be full again, in microseconds since the epoch of the script. The clock is the
// server's, so that those of the processes need not agree; the last argument stands
// in for it in tests.
//
// A bucket is never further from full than by its burst, whatever the rule was
// before. A negative cost gives tokens back that were taken at the time of the fifth
// argument, but for what has flowed in since: a full bucket would not have taken it.
// In place of that argument "look" leaves the bucket as it is.
// Half a microsecond is for rounding: a double holds hundredths of them.
const bucketText = `
local per, burst, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
  local time = redis.call("TIME")
  now = (time[1] - 1735689600) * 1000000 + time[2]
end
local full = math.max(tonumber(redis.call("GET", KEYS[1]) or now), now)
full = math.min(full, now + burst * per)
local next = full + cost * per
if cost < 0 then
  local flowed = math.max(0, now - tonumber(ARGV[5]))
  next = math.max(full + math.min(0, cost * per + flowed), now)
end
local wait = next - burst * per - now
local function tokens(at)
  return math.max(0, math.floor((now + burst * per - at + 0.5) / per))
end
if cost > 0 and wait > 0.5 then
  return {0, tokens(full), math.ceil(wait), math.ceil(full - now), math.floor(now)}
end
if ARGV[5] == "look" then
  return {1, tokens(full), 0, math.ceil(full - now), math.floor(now)}
end
if next > now then
  redis.call("SET", KEYS[1], string.format("%.3f", next), "PX", math.ceil((next - now) / 1000) + 1000)
else
  redis.call("DEL", KEYS[1])
end
return {1, tokens(next), 0, math.ceil(next - now), math.floor(now)}
`

var bucketScript = pipeline.NewScript(bucketText)

// A draw is a run of the script, for one ask.
type draw struct {
	key   string
	args  [5]string // per, burst, cost, now, when the tokens were taken or "look"
	reply pipeline.Reply

	allowed          bool
	remaining        int64
	retryAt, resetAt time.Duration // from now
	at               int64         // when it ran, by the script's clock
	err              error
}

func newDraw(key string, r *Rule, cost int64, now string, taken int64) draw {
	per := float64(r.Window) / float64(time.Microsecond) / float64(r.Limit)
	return draw{key: key, args: [5]string{
		strconv.FormatFloat(per, 'f', -1, 64), strconv.FormatInt(r.burst(), 10), strconv.FormatInt(cost, 10), now, strconv.FormatInt(taken, 10),
	}}
}

// look makes the draw leave the tokens where they are.
func (d *draw) look() { d.args[4] = "look" }

// run runs the script for all draws in one pipeline.
func run(ctx context.Context, p *pipeline.Pipeline, draws []*draw) {
	p.Reset()
	for _, d := range draws {
		// It takes microseconds, and must not queue behind scripts that do not.
		d.reply = p.Eval(bucketScript, []string{d.key}, d.args[:]...).Fast()
	}
	_ = p.Do(ctx) // each reply has its error
	for _, d := range draws {
		d.err = d.read()
	}
}

// read decodes the script's reply.
func (d *draw) read() error {
	var n []int64
	if err := d.reply.Into(&n); err != nil {
		return err
	}
	if len(n) != 5 {
		return fmt.Errorf("limit: the script has replied with %d numbers, want 5", len(n))
	}
	d.allowed, d.remaining, d.at = n[0] == 1, n[1], n[4]
	d.retryAt, d.resetAt = time.Duration(n[2])*time.Microsecond, time.Duration(n[3])*time.Microsecond
	return nil
}
