package limit

import (
	"context"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// The script counts up to ARGV[1] hits in KEYS[1]: as many as fit under ARGV[2], but no more than one in
// ARGV[3] of those. So nothing is over the limit for a moment, as hits of calls may be. A key without a time
// to live gets ARGV[4] seconds before it is counted. The reply has how many hits it counted, and how many
// there were before, 2^62 at most: larger numbers may overflow in a reply.
const fittingText = `
local old = redis.call("GET", KEYS[1])
local hits = math.min(math.max(0, tonumber(old or 0)), 2^62)
local n = math.min(tonumber(ARGV[1]), math.floor((tonumber(ARGV[2]) - hits) / tonumber(ARGV[3])))
if n <= 0 then
  return {0, hits}
end
local by = string.format("%.0f", n)
if not old then
  redis.call("SET", KEYS[1], by, "EX", ARGV[4])
  return {n, hits}
end
if redis.call("PTTL", KEYS[1]) < 0 then
  redis.call("EXPIRE", KEYS[1], ARGV[4])
end
redis.call("INCRBY", KEYS[1], by)
return {n, hits}
`

var fittingScript = pipeline.NewScript(fittingText)

// countFitting counts up to n hits in the window, but no more than one in share of what is missing to most. It
// returns how many it has counted, and how many hits there were before.
func (l *Limiter) countFitting(ctx context.Context, of *Limit, w window, key string, n, most, share int64) (counted, before int64, err error) {
	p := l.pipe()
	defer l.unpipe(p)
	args := make([]string, 0, 4)
	for _, n := range []int64{n, most, share, int64(w.ttl(of.windows(), l.cfg.Budget) / time.Second)} {
		args = append(args, strconv.FormatInt(n, 10))
	}
	reply := evalFast(p, fittingScript, of.heads(w.number).now+key, args)
	_ = p.Do(ctx) // the reply has its error
	numbers, err := numbersOf(reply, 2)
	if err != nil {
		return 0, 0, err
	}
	return numbers[0], numbers[1], nil
}

// hitsBefore reads how many hits a sliding window has from the window before. Their share only falls: hits that
// fit now fit later.
func (l *Limiter) hitsBefore(ctx context.Context, of *Limit, w window, key string) (int64, error) {
	if of.windows() == 1 {
		return 0, nil
	}
	d := draw{key: of.heads(w.number).before + key, get: true}
	l.draw(ctx, []*draw{&d})
	return d.total, d.err
}
