package limit

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/pipeline"
)

// The script of a token bucket is the generic cell rate algorithm (GCRA, ITU-T
// I.371, annex A). Its key holds the theoretical arrival time: when the bucket will
// be full again, in microseconds since the epoch of the script. The clock is the
// server's, so that those of the processes need not agree; the last argument stands
// in for it in tests.
//
// A negative cost gives tokens back, without going beyond a full bucket.
const bucketText = `
local per, burst, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
  local time = redis.call("TIME")
  now = (time[1] - 1735689600) * 1000000 + time[2]
end
local full = math.max(tonumber(redis.call("GET", KEYS[1]) or now), now)
local next = math.max(full + cost * per, now)
local wait = next - burst * per - now
if cost > 0 and wait > 0 then
  return {0, math.max(0, math.floor((now + burst * per - full) / per)), math.ceil(wait), math.ceil(full - now)}
end
if next > now then
  redis.call("SET", KEYS[1], string.format("%.3f", next), "PX", math.ceil((next - now) / 1000) + 1000)
else
  redis.call("DEL", KEYS[1])
end
return {1, math.floor((now + burst * per - next) / per), 0, math.ceil(next - now)}
`

var bucketHash = hashOf(bucketText)

func hashOf(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

// A draw is a run of the script, for one ask.
type draw struct {
	key   string
	args  [4]string // per, burst, cost, now
	reply pipeline.Reply

	allowed          bool
	remaining        int64
	retryAt, resetAt time.Duration // from now
	err              error
}

func newDraw(key string, r *Rule, cost int64, now string) draw {
	per := float64(r.Window) / float64(time.Microsecond) / float64(r.Limit)
	return draw{key: key, args: [4]string{
		strconv.FormatFloat(per, 'f', -1, 64), strconv.FormatInt(r.burst(), 10), strconv.FormatInt(cost, 10), now,
	}}
}

// run runs the script for all draws in one pipeline. What a server refuses since it
// does not know the script goes again with its text.
func run(ctx context.Context, p *pipeline.Pipeline, draws []*draw) {
	unknown := send(ctx, p, draws, "EVALSHA", bucketHash)
	if len(unknown) > 0 {
		send(ctx, p, unknown, "EVAL", bucketText)
	}
}

// send returns the draws whose server does not know the script.
func send(ctx context.Context, p *pipeline.Pipeline, draws []*draw, command, script string) (unknown []*draw) {
	p.Reset()
	for _, d := range draws {
		// It takes microseconds, and must not queue behind scripts that do not.
		d.reply = p.Cmd(command, script, "1", d.key, d.args[0], d.args[1], d.args[2], d.args[3]).Fast()
	}
	_ = p.Do(ctx) // each reply has its error
	for _, d := range draws {
		if d.err = d.read(); isNoScript(d.err) {
			unknown = append(unknown, d)
		}
	}
	return unknown
}

func isNoScript(err error) bool {
	var said resp3.SimpleError
	return errors.As(err, &said) && strings.HasPrefix(said.S, "NOSCRIPT")
}

// read decodes the script's reply.
func (d *draw) read() error {
	var n []int64
	if err := d.reply.Into(&n); err != nil {
		return err
	}
	if len(n) != 4 {
		return fmt.Errorf("limit: the script has replied with %d numbers, want 4", len(n))
	}
	d.allowed, d.remaining = n[0] == 1, n[1]
	d.retryAt, d.resetAt = time.Duration(n[2])*time.Microsecond, time.Duration(n[3])*time.Microsecond
	return nil
}
