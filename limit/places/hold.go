package places

import (
	"context"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// A Hold is a place that [Semaphore.Acquire] has taken. All methods are safe for concurrent
// use, and do nothing for a nil or zero Hold.
type Hold struct {
	of      *Semaphore
	key, id string
	lost    chan struct{}

	// Guarded by keeper.mu.
	at   int       // where in keeper.held; -1: no longer
	sent time.Time // what has taken or renewed it last
	next time.Time // when it is to be renewed
}

// Release gives the place back. It returns when the place is free, or after the semaphore's
// budget: then the semaphore tries again until the place has expired. Only the first call does
// something, and none after the semaphore's Close or once the place is lost.
func (h *Hold) Release() {
	if h == nil || h.of == nil || !h.of.inside.Enter() { // Close gives it back
		return
	}
	s := h.of
	defer s.inside.Leave()
	if !s.keeper.drop(h) {
		return
	}
	s.ended(false)
	p := s.pipe()
	defer s.unpipe(p)
	reply := h.giveUp(p)
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Budget)
	defer cancel()
	if _ = p.Do(ctx); reply.Err() != nil {
		s.keeper.leave(h)
	}
}

// Lost returns a channel that is closed when the place is lost: no renewal has succeeded for 95 % of
// the TTL, Redis has lost it and others have taken it, or the semaphore was closed. If renewals
// fail, it is closed before another holder can get the place, unless this process was suspended
// then. If the cluster loses acknowledged writes, or the server's clock jumps forward, others may
// have the place before. Release does not close it. The channel of a nil Hold is nil.
func (h *Hold) Lost() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.lost
}

// ends returns when the hold is lost unless it is renewed. The rest of the TTL is for the time that it
// takes to tell, and for clocks of different speeds.
func (h *Hold) ends() time.Time { return h.sent.Add(h.of.cfg.TTL - h.of.cfg.TTL/20) }

func (h *Hold) take(ctx context.Context, by time.Time) (reply, error) {
	p := h.of.pipe()
	defer h.of.unpipe(p)
	r := h.append(p)
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	_ = p.Do(ctx) // the reply has its error
	return replyOf(r)
}

// append appends the script. It may run twice: the second time, the place is there.
func (h *Hold) append(p *pipeline.Pipeline) pipeline.Reply {
	return p.Eval(holdScript, []string{h.key}, h.id, h.of.args[0], h.of.args[1]).Fast().Idempotent()
}

func (h *Hold) giveUp(p *pipeline.Pipeline) pipeline.Reply {
	return p.Cmd("ZREM", h.key, h.id).Idempotent()
}

// holdText takes a place for the holder ARGV[1] or renews it, if fewer than ARGV[2] others
// have one, for ARGV[3] milliseconds. The reply has whether it did, how many holders there are,
// and when the first of them expires. KEYS[1] has the holders, and when each expires by the
// server's clock, rounded up.
const holdText = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local most, ttl = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", string.format("%.0f", now))
local held = redis.call("ZCARD", KEYS[1])
if not redis.call("ZSCORE", KEYS[1], ARGV[1]) then
  if held >= most then
    return {0, held, redis.call("ZRANGE", KEYS[1], 0, 0, "WITHSCORES")[2] - now}
  end
  held = held + 1
end
redis.call("ZADD", KEYS[1], string.format("%.0f", now + ttl + 1), ARGV[1])
if redis.call("PTTL", KEYS[1]) < ttl + 2 then
  redis.call("PEXPIRE", KEYS[1], string.format("%.0f", 2 * ttl))
end
return {1, held, ttl}
`

var holdScript = pipeline.NewScript(holdText)

// A reply is what the script has replied.
type reply struct {
	taken bool
	held  int64
	first time.Duration // until the first holder expires
}

func replyOf(r pipeline.Reply) (reply, error) {
	var n []int64
	if err := r.Into(&n); err != nil {
		return reply{}, err
	}
	if len(n) != 3 {
		return reply{}, fmt.Errorf("places: the script has replied with %d numbers, want 3", len(n))
	}
	return reply{n[0] == 1, n[1], time.Duration(n[2]) * time.Millisecond}, nil
}
