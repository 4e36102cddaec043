package service_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	types "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/redislanes/redislanes/limit"
)

const (
	ok      = pb.RateLimitResponse_OK
	over    = pb.RateLimitResponse_OVER_LIMIT
	unknown = pb.RateLimitResponse_UNKNOWN
)

func TestStatuses(t *testing.T) {
	w := start(t, 3, options{})
	res := w.ask(request("user=1", "plan=gold,path=/img/a", "free=x", "color=red", "bucket=1"))
	require.Equal(t, ok, res.GetOverallCode())
	require.Len(t, res.GetStatuses(), 5)
	require.Empty(t, res.GetResponseHeadersToAdd())

	user := res.GetStatuses()[0]
	require.Equal(t, ok, user.GetCode())
	require.Equal(t, "per_user", user.GetCurrentLimit().GetName())
	require.EqualValues(t, 5, user.GetCurrentLimit().GetRequestsPerUnit())
	require.Equal(t, pb.RateLimitResponse_RateLimit_YEAR, user.GetCurrentLimit().GetUnit())
	require.EqualValues(t, 4, user.GetLimitRemaining())
	reset := user.GetDurationUntilReset().AsDuration()
	require.Greater(t, reset, time.Duration(0))
	require.LessOrEqual(t, reset, 365*24*time.Hour)
	require.Zero(t, reset%time.Second, "Envoy cuts off what is less: its clients would come back too early")

	require.EqualValues(t, 1, res.GetStatuses()[1].GetLimitRemaining())
	require.Equal(t, uint32(math.MaxUint32), res.GetStatuses()[2].GetLimitRemaining())
	require.Nil(t, res.GetStatuses()[2].GetCurrentLimit())
	require.Equal(t, ok, res.GetStatuses()[3].GetCode())
	require.Nil(t, res.GetStatuses()[3].GetCurrentLimit())
	require.EqualValues(t, 9, res.GetStatuses()[4].GetLimitRemaining())
	require.EqualValues(t, 1, w.metric("ratelimit_requests_total", "grpc", "OK"))
}

// TestAllOrNothing: a call that one limit denies counts for none.
func TestAllOrNothing(t *testing.T) {
	w := start(t, 3, options{})
	for range 5 {
		require.Equal(t, ok, w.ask(request("tenant=acme", "user=1")).GetOverallCode())
	}
	for range 10 {
		res := w.ask(request("tenant=acme", "user=1"))
		require.Equal(t, over, res.GetOverallCode())
		require.Equal(t, over, res.GetStatuses()[1].GetCode())
		require.Zero(t, res.GetStatuses()[1].GetLimitRemaining())
		require.Contains(t, []pb.RateLimitResponse_Code{ok, unknown}, res.GetStatuses()[0].GetCode()) // counted and taken back, or not asked
		require.Len(t, res.GetResponseHeadersToAdd(), 1)
		require.Equal(t, "retry-after", res.GetResponseHeadersToAdd()[0].GetKey())
	}
	asked := 0
	require.Eventually(t, func() bool { // a slow machine returns denied hits after the budget
		asked++
		return int(w.ask(request("tenant=acme")).GetStatuses()[0].GetLimitRemaining()) == 95-asked
	}, 20*time.Second, 300*time.Millisecond, "5 and these")
	require.EqualValues(t, 10, w.metric("ratelimit_requests_total", "grpc", "OVER_LIMIT"))
}

func TestHits(t *testing.T) {
	w := start(t, 3, options{})
	req := request("tenant=1", "bucket=1", "sliding=1")
	req.HitsAddend = 3
	req.Descriptors[1].HitsAddend = wrapperspb.UInt64(8)
	res := w.ask(req)
	for i, want := range []uint32{97, 2, 4} {
		require.Equal(t, want, res.GetStatuses()[i].GetLimitRemaining(), i)
	}
	req = request("bucket=1")
	req.HitsAddend = 3
	res = w.ask(req)
	require.Equal(t, over, res.GetOverallCode())
	require.EqualValues(t, 2, res.GetStatuses()[0].GetLimitRemaining(), "room that is left is left")
	req.HitsAddend = 2
	require.Equal(t, ok, w.ask(req).GetOverallCode())
	req.HitsAddend = 51
	res = w.ask(req)
	require.Equal(t, over, res.GetOverallCode())
	require.Nil(t, res.GetStatuses()[0].GetCurrentLimit(), "nobody has asked what remains")
	require.Equal(t, over, w.ask(hits("tenant=1", math.MaxUint64)).GetOverallCode())
}

// TestLook: a descriptor whose hits_addend is 0 counts nothing, and is over its limit
// when nothing remains.
func TestLook(t *testing.T) {
	w := start(t, 3, options{})
	look := hits("user=1", 0)
	for _, remaining := range []uint32{5, 4, 3, 2, 1} {
		for range 2 {
			res := w.ask(look)
			require.Equal(t, ok, res.GetOverallCode())
			require.Equal(t, remaining, res.GetStatuses()[0].GetLimitRemaining())
		}
		require.Equal(t, ok, w.ask(request("user=1")).GetOverallCode())
	}
	require.Equal(t, over, w.ask(look).GetOverallCode())
}

// TestNegativeHits: they are given back, whatever else the request has, and no more than were
// counted.
func TestNegativeHits(t *testing.T) {
	w := start(t, 3, options{})
	for _, key := range []string{"user=1", "bucket=1", "sliding=1"} {
		left := w.ask(hits(key, 4)).GetStatuses()[0].GetLimitRemaining()
		res := w.ask(giveBack(key, 3))
		require.Equal(t, ok, res.GetOverallCode())
		require.Nil(t, res.GetStatuses()[0].GetCurrentLimit())
		require.Equal(t, left+3, w.ask(hits(key, 0)).GetStatuses()[0].GetLimitRemaining(), key)
		w.ask(giveBack(key, 0))
		both := giveBack(key, 9)
		both.Descriptors = append(both.Descriptors, request("banned=1", "free=1", "nothing=1").GetDescriptors()...)
		require.Equal(t, over, w.ask(both).GetOverallCode())
		require.Equal(t, left+4, w.ask(hits(key, 0)).GetStatuses()[0].GetLimitRemaining(), key)
	}
}

// TestChargedRule: what is reported afterwards counts whatever it is.
func TestChargedRule(t *testing.T) {
	w := start(t, 3, options{})
	look, report := hits("tokens=1", 0), request("tokens=1", "banned=1")
	report.Descriptors[0].HitsAddend = wrapperspb.UInt64(12)
	require.Equal(t, ok, w.ask(look).GetOverallCode())
	require.Equal(t, over, w.ask(report).GetOverallCode())
	require.Equal(t, over, w.ask(look).GetOverallCode())
	refund := request("tokens=1")
	refund.HitsAddend, refund.Descriptors[0].IsNegativeHits = 9, true
	w.ask(refund)
	require.EqualValues(t, 2, w.ask(look).GetStatuses()[0].GetLimitRemaining(), "of 12")
}

// TestReports: Envoy's apply_on_stream_done reports hits with the descriptor, which count whatever
// they are. Hits of the whole request count only if they fit, and so does one hit.
func TestReports(t *testing.T) {
	w := start(t, 3, options{})
	for _, c := range []struct {
		key    string
		own    uint64 // hits of the descriptor; 0: those of the request
		hits   uint32
		counts bool
	}{
		{"user=own", 9, 0, true},
		{"user=both", 9, 1, true},
		{"user=request", 0, 9, false},
		{"bucket=own", 19, 0, true},
		{"sliding=own", 9, 0, true},
		{"fits=own", 9, 0, false},
		{"tokens=request", 0, 9, true},
	} {
		look, report := hits(c.key, 0), request(c.key)
		if c.own > 0 {
			report = hits(c.key, c.own)
		}
		report.HitsAddend = c.hits
		require.Equal(t, ok, w.ask(look).GetOverallCode(), c.key)
		require.Equal(t, over, w.ask(report).GetOverallCode(), c.key)
		want := ok
		if c.counts {
			want = over
		}
		require.Equal(t, want, w.ask(look).GetOverallCode(), c.key)
	}
	for range 7 { // the last two are denied, and leave nothing
		w.ask(hits("user=one", 1))
	}
	w.ask(giveBack("user=one", 1))
	require.Equal(t, ok, w.ask(request("user=one")).GetOverallCode())
}

func TestShadow(t *testing.T) {
	w := start(t, 3, options{})
	for i := range 3 {
		res := w.ask(request("tried=1", "tenant=1"))
		require.Equal(t, ok, res.GetOverallCode())
		require.Equal(t, ok, res.GetStatuses()[0].GetCode())
		require.Nil(t, res.GetStatuses()[0].GetCurrentLimit(), "clients are not told of it")
		require.Zero(t, res.GetStatuses()[0].GetLimitRemaining())
		require.Nil(t, res.GetStatuses()[0].GetDurationUntilReset())
		require.EqualValues(t, 99-i, res.GetStatuses()[1].GetLimitRemaining())
	}
}

func TestReplaces(t *testing.T) {
	w := start(t, 3, options{})
	for range 10 {
		res := w.ask(request("user=1", "vip=1"))
		require.Equal(t, ok, res.GetOverallCode())
		require.Nil(t, res.GetStatuses()[0].GetCurrentLimit())
	}
	require.EqualValues(t, 4, w.ask(request("user=1")).GetStatuses()[0].GetLimitRemaining(), "it was not counted")
}

// TestOverride: a limit that a descriptor brings with itself has the counter of its rule if both are the
// same, and one of its own if not. It denies also if its rule does not.
func TestOverride(t *testing.T) {
	w := start(t, 3, options{})
	const month, year = types.RateLimitUnit_MONTH, types.RateLimitUnit_YEAR
	for i, c := range []struct {
		key       string
		limit     uint32 // 0: without
		unit      types.RateLimitUnit
		want      pb.RateLimitResponse_Code
		remaining uint32
	}{
		{"anything=1", 2, year, ok, 1}, {"anything=1", 2, year, ok, 0}, {"anything=1", 2, year, over, 0},
		{"user=1", 0, 0, ok, 4}, {"user=1", 5, year, ok, 3}, {"user=1", 0, 0, ok, 2},
		{"user=1", 6, year, ok, 5}, {"user=1", 5, month, ok, 4}, {"user=1", 5, year, ok, 1},
		{"tried=1", 1, year, ok, 0}, {"tried=1", 1, year, over, 0}, // its rule is in the shadow
		{"first=1", 1, year, ok, 0}, {"first=1", 1, year, over, 0}, // or has quota_mode
	} {
		req := request(c.key)
		if c.limit > 0 {
			req = override(c.limit, c.unit, c.key)
		}
		res := w.ask(req)
		status := res.GetStatuses()[0]
		require.Equal(t, c.want, res.GetOverallCode(), i)
		require.Equal(t, c.remaining, status.GetLimitRemaining(), i)
		require.Equal(t, cmp.Or(c.limit, 5), status.GetCurrentLimit().GetRequestsPerUnit(), i)
	}
	req := override(2, year, "anything=1", "tenant=1")
	req.Domain = "elsewhere"
	res := w.ask(req)
	require.Equal(t, ok, res.GetOverallCode())
	require.Nil(t, res.GetStatuses()[0].GetCurrentLimit(), "no such domain")
}

type leasedHits struct{ n atomic.Int64 }

func (*leasedHits) Decided(time.Duration, []limit.Request, limit.Result) {}

func (l *leasedHits) Hits(_ *limit.Limit, what string, n int64) {
	if what == "leased" {
		l.n.Add(n)
	}
}

// TestOverrideHasLeases: a limit that descriptors bring with themselves again and again has leases.
func TestOverrideHasLeases(t *testing.T) {
	leased := new(leasedHits)
	w := start(t, 3, options{limit: limit.Config{Observer: leased}})
	req := override(1_000_000, types.RateLimitUnit_YEAR, "anything=1")
	w.until(func() bool {
		require.Equal(t, ok, w.ask(req).GetOverallCode())
		return leased.n.Load() > 0
	})
}

// TestUnits: each unit of rules is one of the protocol.
func TestUnits(t *testing.T) {
	w := start(t, 1, options{})
	for number, name := range types.RateLimitUnit_name {
		if unit := types.RateLimitUnit(number); unit != types.RateLimitUnit_UNKNOWN {
			s := w.ask(override(2, unit, "user=1")).GetStatuses()[0]
			require.Equal(t, name, s.GetCurrentLimit().GetUnit().String())
			require.Positive(t, s.GetDurationUntilReset().AsDuration())
		}
	}
}

func TestInvalid(t *testing.T) {
	w := start(t, 1, options{})
	for want, req := range map[string]*pb.RateLimitRequest{
		"domain is empty":                              {Descriptors: request("user=1").GetDescriptors()},
		"0 descriptors: want 1 to 1024":                request(),
		"1025 descriptors: want 1 to 1024":             request(slices.Repeat([]string{"user=1"}, 1025)...),
		`descriptor 1: limit: unit = "unknown": want `: override(0, types.RateLimitUnit_UNKNOWN, "user=1"),
	} {
		_, err := w.service.ShouldRateLimit(t.Context(), req)
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
		require.ErrorContains(t, err, want)
	}
	require.EqualValues(t, 4, w.metric("ratelimit_requests_total", "grpc", "InvalidArgument"))
	_, err := w.service.ShouldRateLimit(t.Context(), request("user="+strings.Repeat("x", 64<<10)))
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
}
