package limitgrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/redislanes/redislanes/limit"
)

// UnaryConcurrency returns an interceptor that takes a place before it calls the handler, and
// releases it when the handler has returned or panicked. of returns the key of a call, or false
// if it is not limited.
//
// The response's header has the fields ratelimit-policy and ratelimit as
// limit.Concurrency.Handler adds them. A call that is denied ends with the code
// ResourceExhausted, with retry-after in its header, in seconds, and google.rpc.RetryInfo among
// its details, unless the limit is 0. One that is denied without Redis, by FailClosed, ends with
// Unavailable, and one without a Concurrency with Internal.
//
// The response is sent after the release. A call goes on if its place is lost. In
// grpc.ChainUnaryInterceptor in front of [Unary], it denies calls before they are counted;
// behind it, calls over a rate limit take no place.
func UnaryConcurrency(c *limit.Concurrency, of func(ctx context.Context, info *grpc.UnaryServerInfo, message any) (key string, limited bool)) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, message any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		key, limited := of(ctx, info, message)
		if !limited {
			return handler(ctx, message)
		}
		hold, err := acquire(ctx, c, key, func(header metadata.MD) error { return grpc.SetHeader(ctx, header) })
		if err != nil {
			return nil, err
		}
		defer hold.Release()
		return handler(ctx, message)
	}
}

// StreamConcurrency is UnaryConcurrency for streams, which have their place until their handler
// returns.
func StreamConcurrency(c *limit.Concurrency, of func(ctx context.Context, info *grpc.StreamServerInfo) (key string, limited bool)) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		key, limited := of(stream.Context(), info)
		if !limited {
			return handler(server, stream)
		}
		hold, err := acquire(stream.Context(), c, key, stream.SetHeader)
		if err != nil {
			return err
		}
		defer hold.Release()
		return handler(server, stream)
	}
}

// acquire takes a place, or returns the error that a call ends with which is denied.
func acquire(ctx context.Context, c *limit.Concurrency, key string, set func(metadata.MD) error) (*limit.Hold, error) {
	hold, d := c.Acquire(context.WithoutCancel(ctx), key)
	policy, state := c.Fields(d)
	return hold, answer(d, policy, state, set, "the concurrency limit", "too many calls at a time")
}
