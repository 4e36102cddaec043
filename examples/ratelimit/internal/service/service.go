package service

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
	"github.com/redislanes/redislanes/limit"
)

// Config is what a [Service] is made of.
type Config struct {
	Limiter    *limit.Limiter
	Budget     time.Duration // of the limiter
	Shadow     bool          // limits that requests bring with them deny nothing
	Rules      *rules.Store
	Metrics    *Metrics
	Shedder    *Shedder      // nil: no request is shed
	Quota      *quota.Server // nil: there is no rate limit quota service
	MaxMessage int           // bytes of a request
	Log        *slog.Logger
}

// A Service decides about requests.
type Service struct {
	pb.UnimplementedRateLimitServiceServer
	Config
}

// New returns a service.
func New(c Config) *Service {
	if c.Budget == 0 {
		c.Budget = 100 * time.Millisecond // that of limit.Config
	}
	return &Service{Config: c}
}

// A decision is about a request, and about each of its limits.
type decision struct {
	limit.Decision
	each   []limit.Decision
	told   []limit.Request // without those of quotas
	result limit.Result    // of told
}

var unlimited = decision{Decision: limit.Decision{Allowed: true}}

// An answer is what became of a request.
type answer struct {
	decision
	asks       []ask
	response   *pb.RateLimitResponse
	retryAfter int64 // seconds; 0 if it is not denied, or not known
	failed     bool  // it is denied without Redis, by a limit that fails closed
}

// errShed is for requests that are not decided, to protect those that are.
var errShed = status.Error(codes.Unavailable, "too many requests wait for Redis: try again later, or elsewhere")

// decide decides about a request within the budget. An error is a gRPC status.
func (s *Service) decide(ctx context.Context, req *pb.RateLimitRequest) (answer, error) {
	asks, err := s.read(req)
	if err != nil {
		return answer{}, err
	}
	limited := slices.ContainsFunc(asks, func(a ask) bool { return a.limited() })
	returns := requestsOf(asks, (*ask).returned)
	if !limited && len(returns) == 0 {
		return answer{asks: asks, response: respond(asks, unlimited)}, nil
	}
	permit, ok := s.Shedder.enter()
	if !ok {
		return answer{}, errShed
	}
	result := unlimited
	inTime, cancel := early(ctx)
	defer cancel()
	defer func() { permit.leave(len(returns) == 0 && oneTrip(inTime, result)) }()
	within, end := context.WithTimeout(inTime, s.Budget) // of all calls of the limiter
	defer end()
	// A client that has gone is not waited for: its request does not go on either, and
	// hits that are not sent yet are not counted.
	if limited {
		result = s.allow(within, asks)
	}
	if len(returns) > 0 {
		_ = s.Limiter.GiveBack(within, returns...) // hits that cannot be given back stay counted; a metric says how many
	}
	if err := ctx.Err(); err != nil {
		return answer{}, status.FromContextError(err).Err() // nobody gets it
	}
	if result.Outcome() == "mistaken" {
		s.Log.Error("a request that the service has made is a mistake", "error", result.Err)
		return answer{}, status.Error(codes.Internal, "the request cannot be decided")
	}
	a := answer{decision: result, asks: asks, response: respond(asks, result)}
	if !result.Allowed {
		a.failed = result.Err != nil
		a.retryAfter = seconds(result.RetryAfter)
		if a.retryAfter > 0 { // for the client of a proxy that denies its request
			a.response.ResponseHeadersToAdd = []*core.HeaderValue{{Key: "retry-after", Value: strconv.FormatInt(a.retryAfter, 10)}}
		}
	}
	return a, nil
}

// early returns a context that ends a little before the client's time does: what is
// then decided without Redis, as the rule says, has to reach the client, which otherwise
// decides by itself.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ends := ctx.Deadline()
	if !ends {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, end.Add(-time.Until(end)/10))
}

// requestsOf returns what the limiter is asked about some of the descriptors, such as those that are limited.
func requestsOf(asks []ask, some func(*ask) bool) []limit.Request {
	var requests []limit.Request
	for i := range asks {
		if a := &asks[i]; some(a) {
			requests = append(requests, limit.Request{Limit: a.rule.Limit, Rule: a.rule.Own, Key: a.key, Cost: a.cost, Look: a.look, Charge: a.rule.Charge.Charges(a.cost, a.own)})
		}
	}
	return requests
}

// respond says what became of each descriptor, and of all together.
func respond(asks []ask, result decision) *pb.RateLimitResponse {
	r := &pb.RateLimitResponse{OverallCode: pb.RateLimitResponse_OK, Statuses: make([]*pb.RateLimitResponse_DescriptorStatus, len(asks))}
	if !result.Allowed {
		r.OverallCode = pb.RateLimitResponse_OVER_LIMIT
	}
	next := 0
	for i := range asks {
		switch a := &asks[i]; {
		case a.limited():
			r.Statuses[i] = statusOf(a.rule, &result.each[next])
			next++
		case a.rule != nil && a.rule.Unlimited:
			r.Statuses[i] = &pb.RateLimitResponse_DescriptorStatus{Code: pb.RateLimitResponse_OK, LimitRemaining: math.MaxUint32}
		default:
			r.Statuses[i] = &pb.RateLimitResponse_DescriptorStatus{Code: pb.RateLimitResponse_OK}
		}
	}
	return r
}

// statusOf says what became of a descriptor that has a limit. What is not known is
// not set, nor are the figures of a limit in the shadow: proxies show the limit with the
// least hits remaining to their clients.
func statusOf(rule *rules.Rule, d *limit.Decision) *pb.RateLimitResponse_DescriptorStatus {
	s := &pb.RateLimitResponse_DescriptorStatus{Code: pb.RateLimitResponse_OK}
	switch d.Outcome() {
	case "not_asked":
		s.Code = pb.RateLimitResponse_UNKNOWN
		return s
	case "allowed", "allowed_leased", "denied_by_other", "mistaken":
	default: // without Redis, too
		if !d.Allowed && !rule.InShadow() {
			s.Code = pb.RateLimitResponse_OVER_LIMIT
		}
	}
	tooMany := d.RetryAfter == limit.Never && rule.RequestsPerUnit > 0 // hits for Redis to be asked about
	if d.Err != nil || tooMany || rule.InShadow() {
		return s
	}
	unit := pb.RateLimitResponse_RateLimit_Unit_value[strings.ToUpper(string(rule.Unit))]
	s.CurrentLimit = &pb.RateLimitResponse_RateLimit{
		Name: rule.Name, RequestsPerUnit: rule.RequestsPerUnit, Unit: pb.RateLimitResponse_RateLimit_Unit(unit),
	}
	s.LimitRemaining = uint32(min(d.Remaining, math.MaxUint32))
	if d.ResetAfter > 0 { // Envoy's header x-ratelimit-reset has the whole seconds of it
		s.DurationUntilReset = durationpb.New(time.Duration(seconds(d.ResetAfter)) * time.Second)
	}
	return s
}

// seconds returns the time in whole seconds, rounded up; 0 for one that never comes.
func seconds(d time.Duration) int64 {
	if d == limit.Never {
		return 0
	}
	return int64((d + time.Second - 1) / time.Second)
}
