package limitgrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

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
		if !limited {
			return handler(ctx, message)
		}
		hold, err := acquire(ctx, s, key, func(header metadata.MD) error { return grpc.SetHeader(ctx, header) })
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
		if !limited {
			return handler(server, stream)
		}
		hold, err := acquire(stream.Context(), s, key, stream.SetHeader)
		if err != nil {
			return err
		}
		defer hold.Release()
		return handler(server, stream)
	}
}

// acquire takes a place, or returns the error that a call ends with which is denied.
func acquire(ctx context.Context, s *places.Semaphore, key string, set func(metadata.MD) error) (*places.Hold, error) {
	hold, d := s.Acquire(context.WithoutCancel(ctx), key)
	policy, state := limithttp.PlaceFields(s, d)
	_ = set(fields(policy, state))
	switch {
	case d.Allowed:
		return hold, nil
	case d.Err != nil:
		return nil, status.Error(codes.Unavailable, "the concurrency limit cannot be checked now")
	}
	return nil, deny("too many calls at a time", d.RetryAfter, set)
}
