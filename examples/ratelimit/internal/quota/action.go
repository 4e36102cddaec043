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
