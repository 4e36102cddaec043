package quota_test

import (
	"context"
	"sync"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"
)

const bin = 10 * time.Millisecond

// A client follows its assignments exactly: it works out when hits came, and which of them were
// admitted, up to the moment that it looks, so that it does not matter how late it does.
// Without an assignment it denies all.
type client struct {
	t      *testing.T
	addrs  []string
	id     map[string]string
	gap    time.Duration // between hits
	cancel context.CancelFunc
	broken context.CancelFunc // ends the stream; guarded by mu
	done   sync.WaitGroup

	mu       sync.Mutex
	silent   bool
	began    time.Time // of bins
	next     time.Time // hit
	allowed  uint64
	denied   uint64
	reported time.Time

	strategy *typev3.RateLimitStrategy // nil: none is in force
	rate     float64                   // tokens in a second
	most     float64
	level    float64
	filled   time.Time
	ends     time.Time

	bins      []int // admitted hits
	abandoned int
}

// follow starts a client with so many hits in a second, which connects to the first address, and to
// the next one when its stream breaks.
func follow(t *testing.T, began time.Time, perSecond int, id map[string]string, addrs ...string) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	now := time.Now()
	c := &client{
		t: t, addrs: addrs, id: id, gap: time.Second / time.Duration(perSecond), cancel: cancel,
		began: began, next: now, reported: now,
	}
	c.done.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			c.stream(ctx, c.addrs[i%len(c.addrs)])
		}
	})
	t.Cleanup(c.stop)
	return c
}

// stop is what a crash looks like: the connection ends, and there are no more hits.
func (c *client) stop() {
	c.cancel()
	c.done.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(time.Now())
	c.next = c.next.Add(time.Hour)
}

// reconnect breaks the stream. The client opens another one.
func (c *client) reconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken()
}

func (c *client) stream(ctx context.Context, addr string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	c.broken = cancel
	c.mu.Unlock()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.t.Error(err)
		return
	}
	defer conn.Close()
	stream, err := pb.NewRateLimitQuotaServiceClient(conn).StreamRateLimitQuotas(ctx)
	if err != nil {
		<-time.After(bin)
		return
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	defer cancel()
	sending.Go(func() {
		for every := time.NewTicker(10 * bin); ; {
			if r := c.report(time.Now()); r != nil && stream.Send(r) != nil {
				return
			}
			select {
			case <-ctx.Done():
				every.Stop()
				return
			case <-every.C:
			}
		}
	})
	for {
		res, err := stream.Recv()
		if err != nil {
			<-time.After(bin)
			return
		}
		for _, a := range res.GetBucketAction() {
			c.apply(time.Now(), a)
		}
	}
}

func (c *client) report(now time.Time) *pb.RateLimitQuotaUsageReports {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(now)
	if c.silent {
		return nil
	}
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
		c.abandoned++
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
