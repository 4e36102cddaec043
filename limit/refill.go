package limit

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/pipeline"
)

// The script of a refill counts hits for a lease: as many as are asked for, but no more than
// a share of what remains. So nothing is over the limit for a moment, as hits of calls may be.
//
// KEYS[1] is the counter of a window. ARGV has how many hits are asked for, how many are
// allowed in all, the share, and the time to live in milliseconds. The reply has how many were
// granted, and the counter.
const refillText = `
local now = math.max(0, tonumber(redis.call("GET", KEYS[1]) or 0))
local n = math.min(tonumber(ARGV[1]), math.floor((tonumber(ARGV[2]) - now) / tonumber(ARGV[3])))
if n <= 0 then
  return {0, now}
end
now = redis.call("INCRBY", KEYS[1], string.format("%.0f", n))
if redis.call("PTTL", KEYS[1]) < 0 then
  redis.call("PEXPIRE", KEYS[1], ARGV[4])
end
return {n, now}
`

var refillScript = pipeline.NewScript(refillText)

// A refill is what Redis has granted to a lease.
type refill struct {
	lease   *keyLease
	window  window
	granted int64
	free    int64 // hits that Redis could still grant
	err     error
}

// refill asks for hits behind the callers' backs. The caller is inside.
func (l *Limiter) refill(k *keyLease, w window, n int64) {
	l.inside.Stay()
	go func() {
		defer l.inside.Leave()
		ctx, cancel := context.WithTimeout(l.life, l.cfg.Budget)
		defer cancel()
		r := refill{lease: k, window: w}
		r.granted, r.free, r.err = l.grant(ctx, k, w, n)
		l.filled(&r)
	}()
}

// grant asks Redis for n hits. Of a sliding window, it first reads the one before, whose share
// only falls: hits that fit now fit later.
func (l *Limiter) grant(ctx context.Context, k *keyLease, w window, n int64) (granted, free int64, err error) {
	heads, room := k.limit.heads(w.number), k.limit.rule.Limit
	if k.limit.windows() == 2 {
		before := draw{key: heads.before + k.key, get: true}
		if l.draw(ctx, []*draw{&before}); before.err != nil {
			return 0, 0, before.err
		}
		room -= w.share(before.total)
	}
	p := l.scripted.Get().(*pipeline.Pipeline)
	defer l.scripted.Put(p)
	p.Reset()
	ttl := w.ttl(k.limit.windows(), l.cfg.Budget)
	// It takes microseconds, and must not queue behind scripts that do not.
	reply := p.Eval(refillScript, []string{heads.now + k.key},
		strconv.FormatInt(n, 10), strconv.FormatInt(room, 10), strconv.Itoa(lease.Share), strconv.FormatInt(ttl.Milliseconds(), 10)).Fast()
	_ = p.Do(ctx) // the reply has its error
	var numbers []int64
	if err := reply.Into(&numbers); err != nil {
		return 0, 0, err
	}
	if len(numbers) != 2 {
		return 0, 0, fmt.Errorf("limit: the script has replied with %d numbers, want 2", len(numbers))
	}
	return numbers[0], room - numbers[1], nil
}

// filled puts what was granted into the lease. What comes too late for that is returned, or
// lost if its window has ended.
func (l *Limiter) filled(r *refill) {
	k, unused, late := r.lease, int64(0), int64(0)
	k.mu.Lock()
	switch {
	case k.number != r.window.number:
		unused = r.granted
	case k.over:
		late = r.granted
	case r.err != nil:
		k.Failed()
	default:
		k.Filled(r.granted, r.free)
	}
	k.mu.Unlock()
	l.tellSome(k.limit, HitsCounted, r.granted)
	l.tellSome(k.limit, HitsLeased, r.granted)
	l.tellSome(k.limit, HitsUnused, unused)
	if late > 0 {
		l.backlog.offer([]owed{k.owed(l, r.window, late)})
	}
}

// tellSome is tell, unless there is nothing to be told.
func (l *Limiter) tellSome(of *Limit, what Hits, n int64) {
	if n > 0 {
		l.tell(of, what, n)
	}
}
