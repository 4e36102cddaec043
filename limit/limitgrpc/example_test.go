package limitgrpc_test

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limitgrpc"
)

// The limit of a call depends on who calls.
func ExampleUnary() {
	var limiter *limit.Limiter // from limit.New
	perUser, err := limiter.Limit(limit.Rule{Name: "user", Limit: 100, Window: time.Minute})
	if err != nil {
		return // the rule cannot be used
	}
	_ = grpc.NewServer(grpc.UnaryInterceptor(limitgrpc.Unary(limiter,
		func(ctx context.Context, info *grpc.UnaryServerInfo, _ any) []limit.Request {
			user := metadata.ValueFromIncomingContext(ctx, "user")
			if len(user) == 0 {
				return nil
			}
			return []limit.Request{{Limit: perUser, Key: user[0]}}
		})))
}
