package load

import (
	"context"
	"testing"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/fake"
)

func requests(t *testing.T, keys int, descriptors ...string) []*rls.RateLimitRequest {
	t.Helper()
	var all []Descriptor
	for _, text := range descriptors {
		var d Descriptor
		require.NoError(t, d.UnmarshalText([]byte(text)))
		require.Equal(t, text, d.String())
		all = append(all, d)
	}
	return Requests("test", all, keys)
}

// TestClient sends requests over several connections in turn.
func TestClient(t *testing.T) {
	s := fake.New(10, 0)
	proxy := redistest.StartProxy(t, fake.Serve(t, s))
	c, err := Dial(t.Context(), proxy.Addr(), 3, requests(t, 12, "tenant=acme,user=u-*", "path=/"))
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, 3, proxy.Dials())
	for range 2 {
		denied, err := c.Send(t.Context(), 11)
		require.NoError(t, err)
		require.False(t, denied)
	}
	require.Equal(t, map[string]int{
		"test / tenant=acme user=u-000000 / path=/": 3, // of Dial
		"test / tenant=acme user=u-000011 / path=/": 2,
	}, s.Seen())
	require.Equal(t, 3, proxy.Dials())
}

func TestDenied(t *testing.T) {
	s := fake.New(10, 0)
	s.Code = rls.RateLimitResponse_OVER_LIMIT
	c, err := Dial(t.Context(), fake.Serve(t, s), 1, requests(t, 1, "user=*"))
	require.NoError(t, err)
	defer c.Close()
	denied, err := c.Send(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, denied)
}

// TestDialErrors: each names the target and what is wrong with it.
func TestDialErrors(t *testing.T) {
	undecided := fake.New(10, 0)
	undecided.Code = rls.RateLimitResponse_UNKNOWN
	unlimited := fake.New(10, 0)
	unlimited.Unlimited = true
	for name, c := range map[string]struct{ addr, want string }{
		"another service":     {fake.Serve(t, nil), "Unimplemented"},
		"replies say nothing": {fake.Serve(t, undecided), "neither OK nor OVER_LIMIT"},
		"no rule":             {fake.Serve(t, unlimited), "no rule matches it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Dial(t.Context(), c.addr, 2, requests(t, 1, "user=*"))
			require.ErrorContains(t, err, "-target "+c.addr+": ")
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestSilentServer: connecting ends with its context.
func TestSilentServer(t *testing.T) {
	proxy := redistest.StartProxy(t, fake.Serve(t, fake.New(1, 0)))
	proxy.Stall(redistest.ToClient)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Dial(ctx, proxy.Addr(), 1, requests(t, 1, "user=*"))
	require.ErrorContains(t, err, "-target "+proxy.Addr()+": ")
}

func TestParseDescriptor(t *testing.T) {
	for _, text := range []string{"", "user", "=x", "user=*,", "user=*,,a=b"} {
		require.ErrorContains(t, new(Descriptor).UnmarshalText([]byte(text)), "want entries key=value", text)
	}
	for text, varies := range map[string]bool{"user=*": true, "a=b,user=u-*-x": true, "user=": false, "*=user": false} {
		var d Descriptor
		require.NoError(t, d.UnmarshalText([]byte(text)))
		require.Equal(t, varies, d.Varies(), text)
	}
}
