package places

import (
	"context"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// holdText takes a place for the holder ARGV[1] or renews it, if fewer than ARGV[2] others
// have one, for ARGV[3] milliseconds. It returns how many holders there are, or 0 if there is no place. KEYS[1]
// has the holders, and when each expires by the server's clock, rounded up.
const holdText = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local most, ttl = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", string.format("%.0f", now))
local held = redis.call("ZCARD", KEYS[1])
if not redis.call("ZSCORE", KEYS[1], ARGV[1]) then
  if held >= most then return 0 end
  held = held + 1
end
redis.call("ZADD", KEYS[1], string.format("%.0f", now + ttl + 1), ARGV[1])
if redis.call("PTTL", KEYS[1]) < ttl + 2 then
  redis.call("PEXPIRE", KEYS[1], string.format("%.0f", 2 * ttl))
end
return held
`

var holdScript = pipeline.NewScript(holdText)

// take takes the place or renews it. It returns how many holders the key has, or 0 if there is no place.
// The script may run twice: the second time, the place is there.
func (h *Hold) take(ctx context.Context, by time.Time) (held int64, err error) {
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	return h.of.do(ctx, func(p *pipeline.Pipeline) pipeline.Reply {
		return p.Eval(holdScript, []string{h.key}, h.id, h.of.args[0], h.of.args[1]).Fast().Idempotent()
	})
}

// free frees the place, for a budget at most.
func (h *Hold) free() error {
	ctx, cancel := context.WithTimeout(context.Background(), h.of.cfg.Budget)
	defer cancel()
	_, err := h.of.do(ctx, func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("ZREM", h.key, h.id).Idempotent() })
	return err
}

// do sends the command that add appends.
func (s *Semaphore) do(ctx context.Context, add func(*pipeline.Pipeline) pipeline.Reply) (n int64, err error) {
	p := s.pipes.Get().(*pipeline.Pipeline)
	defer s.pipes.Put(p)
	defer p.Reset()
	reply := add(p)
	_ = p.Do(ctx) // the reply has its error
	return reply.Int()
}
