package limitgrpc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit/limitgrpc"
	"github.com/redislanes/redislanes/limit/places"
	"github.com/redislanes/redislanes/redistest"
)

// A stream is the server's end of one, whose header can be looked at.
type stream struct {
	grpc.ServerStream
	header metadata.MD
}

func (s *stream) Context() context.Context {
	return grpc.NewContextWithServerTransportStream(context.Background(), transport{s})
}

func (s *stream) SetHeader(md metadata.MD) error {
	s.header = metadata.Join(s.header, md)
	return nil
}

// A transport is a stream as grpc.SetHeader sees it.
type transport struct{ *stream }

func (transport) Method() string               { return "/service/method" }
func (transport) SetTrailer(metadata.MD) error { return nil }

// TestPlaces: calls and streams have their place until their handler ends.
func TestPlaces(t *testing.T) {
	client, err := cluster.Config{}.New(t.Context(), redistest.StartEmulated(t, 3).Addrs())
	require.NoError(t, err)
	defer client.Close()
	one, err := places.Config{Name: "one", Max: 1, FailClosed: true, Budget: 10 * time.Second}.New(client)
	require.NoError(t, err)
	defer one.Close()
	key := "k"
	for name, call := range map[string]func(c *places.Semaphore, do func() error) (metadata.MD, error){
		"unary": func(c *places.Semaphore, do func() error) (metadata.MD, error) {
			s := new(stream)
			_, err := limitgrpc.UnaryPlaces(c, func(context.Context, *grpc.UnaryServerInfo, any) (string, bool) { return key, key != "" })(
				s.Context(), nil, new(grpc.UnaryServerInfo), func(context.Context, any) (any, error) { return nil, do() })
			return s.header, err
		},
		"stream": func(c *places.Semaphore, do func() error) (metadata.MD, error) {
			s := new(stream)
			err := limitgrpc.StreamPlaces(c, func(context.Context, *grpc.StreamServerInfo) (string, bool) { return key, key != "" })(
				nil, s, new(grpc.StreamServerInfo), func(any, grpc.ServerStream) error { return do() })
			return s.header, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			nothing, failed := func() error { return nil }, errors.New("failed")
			for range 2 {
				header, err := call(one, func() error {
					header, err := call(one, nothing)
					require.Equal(t, codes.ResourceExhausted, status.Code(err))
					require.Equal(t, metadata.MD{
						"ratelimit-policy": {`"one";q=1;qu="concurrent-requests"`}, "ratelimit": {`"one";r=0`}, "retry-after": {"1"},
					}, header)
					require.Positive(t, status.Convert(err).Details()[0].(*errdetails.RetryInfo).RetryDelay.AsDuration())
					return failed
				})
				require.ErrorIs(t, err, failed)
				require.Empty(t, header["retry-after"])
				require.Panics(t, func() { _, _ = call(one, func() error { panic("handler") }) })
			}
			_, err := call(one, func() error {
				key = ""
				defer func() { key = "k" }()
				header, err := call(one, nothing)
				require.Empty(t, header)
				return err
			})
			require.NoError(t, err, "a call that is not limited")
			_, err = call(nil, nothing)
			require.Equal(t, codes.Unavailable, status.Code(err))
		})
	}
	require.NoError(t, one.Close())
	err = limitgrpc.StreamPlaces(one, func(context.Context, *grpc.StreamServerInfo) (string, bool) { return key, true })(nil, new(stream), nil, nil)
	require.Equal(t, codes.Unavailable, status.Code(err))
}
