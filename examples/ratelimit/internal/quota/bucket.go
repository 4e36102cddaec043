package quota

import (
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota/share"
)

type (
	action     = pb.RateLimitQuotaResponse_BucketAction
	assignment = pb.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction
)

func assign(id *pb.BucketId, ttl time.Duration, s *typev3.RateLimitStrategy) *action {
	return &action{BucketId: id, BucketAction: &pb.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction_{
		QuotaAssignmentAction: &assignment{AssignmentTimeToLive: durationpb.New(ttl), RateLimitStrategy: s},
	}}
}

func abandon(id *pb.BucketId) *action {
	return &action{BucketId: id, BucketAction: &pb.RateLimitQuotaResponse_BucketAction_AbandonAction_{
		AbandonAction: &pb.RateLimitQuotaResponse_BucketAction_AbandonAction{},
	}}
}

func blanket(rule typev3.RateLimitStrategy_BlanketRule) *typev3.RateLimitStrategy {
	return &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_BlanketRule_{BlanketRule: rule}}
}

// strategy returns a token bucket. Envoy does not know requests_per_time_unit. Its buckets fill
// evenly; it takes fill_interval in whole seconds, and does not notice when only that changes. So the
// interval is always the limit's window, and sub.steps has it notice another one.
func strategy(a share.Assignment, window time.Duration) *typev3.RateLimitStrategy {
	if a.Share == 0 {
		return blanket(typev3.RateLimitStrategy_DENY_ALL)
	}
	return &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_TokenBucket{TokenBucket: &typev3.TokenBucket{
		MaxTokens: uint32(a.Tokens), TokensPerFill: wrapperspb.UInt32(uint32(a.Share)), FillInterval: durationpb.New(window),
	}}}
}

// A bucket is the limit of one rule and key, which all clients with matching bucket ids share.
type bucket struct {
	key    string // in Redis
	limit  int64
	window time.Duration

	share            *share.Bucket
	capacity, target int64     // leased, and to be leased
	until            time.Time // the lease ends
	asking           bool      // a smaller lease is asked for: what is in force must not grow
	spent            *lease    // what Redis has to keep; nil while the bucket is used
	subs             map[share.ID]*sub
}

// A sub is a client's subscription for a bucket id.
type sub struct {
	stream *stream
	name   string // of the bucket id
	id     *pb.BucketId
	share  share.ID

	interval time.Duration // in which the last token bucket fills that was sent

	bucket *bucket // nil: rule is for all hits
	rule   typev3.RateLimitStrategy_BlanketRule
	sent   time.Time // when rule was
	used   time.Time // the last report with hits
}

// A match is what a bucket id stands for.
type match struct {
	key    string // of the bucket; "" for none: rule is for all hits
	rule   typev3.RateLimitStrategy_BlanketRule
	limit  int64
	window time.Duration
}

// match finds the rule for a bucket id. Without one, hits are allowed, as by the classic service. A
// rule in the shadow denies nothing.
func (s *Server) match(domain string, id *pb.BucketId) match {
	rule, key := s.set.MatchMap(domain, id.GetBucket())
	if rule == nil || rule.Unlimited {
		return match{rule: typev3.RateLimitStrategy_ALLOW_ALL}
	}
	switch of := rule.Limit.Rule(); {
	case rule.InShadow():
		return match{rule: typev3.RateLimitStrategy_ALLOW_ALL}
	case of.Quota == 0:
		return match{rule: typev3.RateLimitStrategy_DENY_ALL}
	default:
		return match{key: s.Prefix + "quota:" + of.Name + ":" + rule.Window().String() + ":" + key, limit: of.Quota, window: rule.Window()}
	}
}

// follow lets a subscription follow the rules.
func (s *Server) follow(c *sub) {
	m := s.match(c.stream.domain, c.id)
	if c.bucket != nil && c.bucket.key == m.key {
		if b := c.bucket; b.limit != m.limit {
			b.limit = m.limit
			b.setLease(min(b.capacity, m.limit), min(b.target, m.limit))
			s.kick()
		}
		return
	}
	s.unfollow(c)
	c.rule, c.sent = m.rule, time.Time{}
	if m.key == "" {
		return
	}
	b := s.buckets[m.key]
	if b == nil {
		b = &bucket{key: m.key, limit: m.limit, window: m.window, subs: make(map[share.ID]*sub), share: share.New(share.Settings{
			Window: m.window, TTL: s.TTL, Delivery: s.Delivery, Silence: s.silence(), Idle: idle * s.TTL,
		})}
		s.buckets[m.key] = b
		s.kick()
	}
	s.next++
	c.bucket, c.share = b, s.next
	b.subs[c.share] = c
}

// unfollow ends what the subscription takes part in.
func (s *Server) unfollow(c *sub) {
	if b := c.bucket; b != nil {
		b.share.Leave(c.share)
		delete(b.subs, c.share)
		c.bucket = nil
	}
}

func (b *bucket) setLease(capacity, target int64) {
	b.capacity, b.target = capacity, target
	b.share.SetCapacity(capacity, target)
}

// decide sends the assignments that are due.
func (s *Server) decide(now time.Time, b *bucket) {
	if b.asking {
		return
	}
	for _, a := range b.share.Decide(now, b.until) {
		c := b.subs[a.ID]
		switch {
		case c == nil: // it has left
		case a.Abandon:
			s.abandon(c)
		default:
			c.send(a.ID, assign(c.id, s.TTL, strategy(a, b.window)))
			s.metrics.assigned(kindOf(a.Share))
		}
	}
}

// abandon has the client forget the bucket id. It begins again with its next hit.
func (s *Server) abandon(c *sub) {
	c.send(0, abandon(c.id))
	s.metrics.assigned("abandon")
	s.unfollow(c)
	delete(c.stream.subs, c.name)
}

// blanket sends what a rule is for all hits, when it is due.
func (s *Server) blanket(now time.Time, c *sub) {
	switch {
	case c.bucket != nil || now.Sub(c.stream.seen) > s.silence():
		return
	case now.Sub(c.used) >= idle*s.TTL:
		s.abandon(c)
		return
	case now.Sub(c.sent) < s.TTL/4:
		return
	}
	c.sent = now
	c.send(0, assign(c.id, s.TTL, blanket(c.rule)))
	if c.rule == typev3.RateLimitStrategy_ALLOW_ALL {
		s.metrics.assigned("allow_all")
		return
	}
	s.metrics.assigned(kindOf(0))
}

func kindOf(share int64) string {
	if share == 0 {
		return "deny_all"
	}
	return "token_bucket"
}
