package quota_test

import (
	"context"
	"sync"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

const bin = 10 * time.Millisecond

// A client follows its assignments exactly: it works out when hits came, and which of them were
// admitted, up to the moment that it looks, so that it does not matter how late it does.
// Without an assignment it denies all.
type client struct {
	id  map[string]string
	gap time.Duration // between hits

	mu       sync.Mutex // guards what follows
	began    time.Time  // of bins
	next     time.Time  // hit
	allowed  uint64
	denied   uint64
	reported time.Time

	strategy *typev3.RateLimitStrategy // nil: none is in force
	rate     float64                   // tokens in a second
	most     float64
	level    float64
	filled   time.Time
	ends     time.Time

	bins []int // admitted hits
}

// newClient returns a client that has so many hits in a second from now on.
func newClient(perSecond int, id map[string]string) *client {
	now := time.Now()
	return &client{id: id, gap: time.Second / time.Duration(perSecond), began: now, next: now, reported: now}
}

// A stream is that of a client. It has no network.
type stream struct {
	grpc.ServerStream
	ctx     context.Context
	client  *client
	reports *time.Ticker
	stuck   bool                             // the client reads nothing any more
	sent    []*pb.RateLimitQuotaUsageReports // before the client's
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) Recv() (*pb.RateLimitQuotaUsageReports, error) {
	if len(s.sent) > 0 {
		next := s.sent[0]
		s.sent = s.sent[1:]
		return next, nil
	}
	select {
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	case now := <-s.reports.C:
		return s.client.report(now), nil
	}
}

func (s *stream) Send(r *pb.RateLimitQuotaResponse) error {
	if s.stuck {
		<-s.ctx.Done()
		return s.ctx.Err()
	}
	for _, a := range r.GetBucketAction() {
		s.client.apply(time.Now(), a)
	}
	return nil
}

// follow lets the client report and follow its assignments until the context or the stream ends.
func (i *instance) follow(ctx context.Context, c *client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(i.stopping, cancel)()
	defer cancel()
	s := &stream{ctx: ctx, client: c, reports: time.NewTicker(10 * bin)}
	defer s.reports.Stop()
	return i.StreamRateLimitQuotas(s)
}

func (c *client) report(now time.Time) *pb.RateLimitQuotaUsageReports {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(now)
	u := &pb.RateLimitQuotaUsageReports_BucketQuotaUsage{
		BucketId: &pb.BucketId{Bucket: c.id}, TimeElapsed: durationpb.New(now.Sub(c.reported)),
		NumRequestsAllowed: c.allowed, NumRequestsDenied: c.denied,
	}
	c.allowed, c.denied, c.reported = 0, 0, now
	return &pb.RateLimitQuotaUsageReports{Domain: "shop", BucketQuotaUsages: []*pb.RateLimitQuotaUsageReports_BucketQuotaUsage{u}}
}

func (c *client) apply(now time.Time, a *pb.RateLimitQuotaResponse_BucketAction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(now)
	if a.GetAbandonAction() != nil {
		c.strategy = nil
		return
	}
	s := a.GetQuotaAssignmentAction().GetRateLimitStrategy()
	if b := s.GetTokenBucket(); b != nil && !sameForEnvoy(b, c.strategy.GetTokenBucket()) {
		c.rate = float64(b.GetTokensPerFill().GetValue()) / b.GetFillInterval().AsDuration().Seconds()
		c.most = float64(b.GetMaxTokens())
		c.level, c.filled = c.most, now
	}
	c.strategy = s
	c.ends = now.Add(a.GetQuotaAssignmentAction().GetAssignmentTimeToLive().AsDuration())
}

// sameForEnvoy reports whether Envoy goes on with the token bucket that it has. It compares the
// nanoseconds of fill_interval and not the seconds.
func sameForEnvoy(a, b *typev3.TokenBucket) bool {
	return b != nil && a.GetMaxTokens() == b.GetMaxTokens() && a.GetTokensPerFill().GetValue() == b.GetTokensPerFill().GetValue() &&
		a.GetFillInterval().GetNanos() == b.GetFillInterval().GetNanos()
}

// advance works out what became of the hits until now.
func (c *client) advance(now time.Time) {
	for ; !c.next.After(now); c.next = c.next.Add(c.gap) {
		if !c.admit(c.next) {
			c.denied++
			continue
		}
		c.allowed++
		i := int(c.next.Sub(c.began) / bin)
		for len(c.bins) <= i {
			c.bins = append(c.bins, 0)
		}
		c.bins[i]++
	}
}

func (c *client) admit(at time.Time) bool {
	if !at.Before(c.ends) {
		c.strategy = nil
	}
	if c.strategy.GetTokenBucket() == nil {
		return c.strategy != nil && c.strategy.GetBlanketRule() == typev3.RateLimitStrategy_ALLOW_ALL
	}
	c.level = min(c.most, c.level+c.rate*at.Sub(c.filled).Seconds())
	c.filled = at
	if c.level < 1 {
		return false
	}
	c.level--
	return true
}

// in returns how many hits were admitted from a time on, within a duration.
func in(clients []*client, from time.Time, d time.Duration) (sum int) {
	for _, c := range clients {
		c.mu.Lock()
		c.advance(time.Now())
		first := int(from.Sub(c.began) / bin)
		for i := first; i < first+int(d/bin) && i < len(c.bins); i++ {
			sum += c.bins[i]
		}
		c.mu.Unlock()
	}
	return sum
}

// current returns what the client follows now.
func (c *client) current() *typev3.RateLimitStrategy {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(time.Now())
	return c.strategy
}

// currentRate returns how many hits in a second the client admits by its token bucket.
func (c *client) currentRate() float64 {
	if c.current().GetTokenBucket() == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rate
}
