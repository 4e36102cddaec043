package limitgrpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limithttp"
	"github.com/redislanes/redislanes/limit/places"
)

// UnaryPlaces returns an interceptor that takes a place before it calls the handler, and
// releases it when the handler has returned or panicked. of returns the key of a call, or false
// if it is not limited.
//
// The response's header has the fields ratelimit-policy and ratelimit of limithttp.PlaceFields. A call
// that is denied ends with the code ResourceExhausted, with retry-after in its header, in seconds, and
// google.rpc.RetryInfo among its details. One that is denied without Redis, by FailClosed, ends with
// Unavailable.
//
// The response is sent after the release. A call goes on if its place is lost. In
// grpc.ChainUnaryInterceptor in front of [Unary], it denies calls before they are counted;
// behind it, calls over a rate limit take no place.
func UnaryPlaces(s *places.Semaphore, of func(ctx context.Context, info *grpc.UnaryServerInfo, message any) (key string, limited bool)) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, message any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		key, limited := of(ctx, info, message)
		hold, err := acquire(ctx, s, key, limited)
		if err != nil {
			return nil, err
		}
		defer hold.Release()
		return handler(ctx, message)
	}
}

// StreamPlaces is UnaryPlaces for streams, which have their place until their handler
// returns.
func StreamPlaces(s *places.Semaphore, of func(ctx context.Context, info *grpc.StreamServerInfo) (key string, limited bool)) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		key, limited := of(stream.Context(), info)
		hold, err := acquire(stream.Context(), s, key, limited)
		if err != nil {
			return err
		}
		defer hold.Release()
		return handler(server, stream)
	}
}

// acquire takes a place if the call is limited, or returns the error of a call that is denied.
func acquire(ctx context.Context, s *places.Semaphore, key string, limited bool) (*places.Hold, error) {
	if !limited {
		return nil, nil
	}
	hold, d := s.Acquire(context.WithoutCancel(ctx), key)
	policy, state := limithttp.PlaceFields(s, d)
	setFields(ctx, policy, state)
	if d.Allowed {
		return hold, nil
	}
	return nil, denied(ctx, limit.Decision{RetryAfter: d.RetryAfter, Err: d.Err}, "too many calls at a time", "the concurrency limit")
}
