package limitgrpc_test

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limitgrpc"
	"github.com/redislanes/redislanes/limit/places"
)

// The limit of a call depends on who calls.
func ExampleUnary() {
	var limiter *limit.Limiter // from limit.Config.New
	perUser, err := limit.Rule{Name: "user", Quota: 100, Window: time.Minute}.New(limiter)
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

// A tenant may have two exports at a time, each of which is a stream.
func ExampleStreamPlaces() {
	var client *cluster.Client // from cluster.Config.New
	exports, err := places.Config{Name: "exports", Max: 2}.New(client)
	if err != nil {
		return // a setting cannot be used
	}
	_ = grpc.NewServer(grpc.ChainStreamInterceptor(limitgrpc.StreamPlaces(exports,
		func(ctx context.Context, info *grpc.StreamServerInfo) (string, bool) {
			tenant := metadata.ValueFromIncomingContext(ctx, "tenant")
			return strings.Join(tenant, " "), info.FullMethod == "/shop.Exports/Export"
		})))
}

// A user may have ten calls at a time, and 100 in a minute.
func ExampleUnaryPlaces() {
	var client *cluster.Client // from cluster.Config.New
	var limiter *limit.Limiter // from limit.Config.New
	calls, err := places.Config{Name: "calls", Max: 10}.New(client)
	if err != nil {
		return // the rule cannot be used
	}
	perUser, err := limit.Rule{Name: "user", Quota: 100, Window: time.Minute}.New(limiter)
	if err != nil {
		return
	}
	user := func(ctx context.Context) string {
		return strings.Join(metadata.ValueFromIncomingContext(ctx, "user"), " ")
	}
	_ = grpc.NewServer(grpc.ChainUnaryInterceptor(
		limitgrpc.UnaryPlaces(calls, func(ctx context.Context, _ *grpc.UnaryServerInfo, _ any) (string, bool) {
			return user(ctx), true
		}),
		limitgrpc.Unary(limiter, func(ctx context.Context, _ *grpc.UnaryServerInfo, _ any) []limit.Request {
			return []limit.Request{{Limit: perUser, Key: user(ctx)}}
		}),
	))
}
