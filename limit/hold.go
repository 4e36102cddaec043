package limit

import (
	"context"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// A Hold is a place that [Concurrency.Acquire] has taken. All methods are safe for concurrent
// use, and do nothing for a nil Hold.
type Hold struct {
	of      *Concurrency
	key, id string
	lost    chan struct{}

	// Guarded by keeper.mu.
	at   int       // where in keeper.held; -1: no longer
	sent time.Time // what has taken or renewed it last
	next time.Time // when it is to be renewed
}

// Release gives the place back. It returns when the place is free, or after the limiter's
// budget: then the limiter tries again until the place has expired. Only the first call does
// something, and none after the limiter's Close or once the place is lost.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	l := h.of.limiter
	if !l.inside.Enter() {
		return // Close gives it back
	}
	defer l.inside.Leave()
	if !l.keeper.drop(h) {
		return
	}
	l.tell(&h.of.shown, HitsReturned, 1)
	p := l.pipe()
	defer l.unpipe(p)
	reply := h.giveUp(p)
	ctx := l.budgets.Begin(context.Background(), time.Now().Add(l.cfg.Budget))
	defer l.budgets.End(ctx)
	if _ = p.Do(ctx); reply.Err() != nil {
		l.keeper.leave(h)
	}
}

// Lost returns a channel that is closed when the place is lost: no renewal has succeeded for 95 % of
// the rule's TTL, Redis has lost it and others have taken it, or the limiter was closed. If renewals
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
func (h *Hold) ends() time.Time { return h.sent.Add(h.of.rule.TTL - h.of.rule.TTL/20) }

func (h *Hold) take(ctx context.Context, by time.Time) (holding, error) {
	l := h.of.limiter
	p := l.pipe()
	defer l.unpipe(p)
	reply := h.append(p)
	own := l.budgets.Begin(ctx, by)
	defer l.budgets.End(own)
	_ = p.Do(own) // the reply has its error
	return holdingOf(reply)
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

// A holding is what the script has replied.
type holding struct {
	taken bool
	held  int64
	first time.Duration // until the first holder expires
}

func holdingOf(r pipeline.Reply) (holding, error) {
	n, err := numbersOf(r, 3)
	if err != nil {
		return holding{}, err
	}
	return holding{n[0] == 1, n[1], time.Duration(n[2]) * time.Millisecond}, nil
}

// pipe returns an empty pipeline. Its replies are valid until unpipe.
func (l *Limiter) pipe() *pipeline.Pipeline {
	p := l.scripted.Get().(*pipeline.Pipeline)
	p.Reset()
	return p
}

func (l *Limiter) unpipe(p *pipeline.Pipeline) {
	large := p.Len() > largeCall
	if p.Reset(); !large {
		l.scripted.Put(p)
	}
}
