package service

import (
	"math"
	"slices"
	"strings"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
)

// mostDescriptors is how many descriptors a request may have: each may be a command to
// Redis.
const mostDescriptors = 1024

// An ask is a descriptor of a request, and its rule.
type ask struct {
	rule *rules.Rule // nil if there is none
	key  string
	cost int64
	own  bool // the descriptor has brought its hits with itself
	look bool // the hits are not to be counted
	back bool // the hits are to be given back

	unmatched bool // no rule matches, not even one that another one replaces
}

// limited reports whether the limiter has to be asked.
func (a *ask) limited() bool { return a.rule != nil && !a.rule.Unlimited && !a.back }

// returned reports whether hits are given back.
func (a *ask) returned() bool { return a.rule != nil && !a.rule.Unlimited && a.back && !a.look }

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// read finds the rules for a request.
func (s *Service) read(req *pb.RateLimitRequest) ([]ask, error) {
	switch n := len(req.GetDescriptors()); {
	case req.GetDomain() == "":
		return nil, invalid("domain is empty: want that of a file of rules")
	case n == 0 || n > mostDescriptors:
		return nil, invalid("%d descriptors: want 1 to %d", n, mostDescriptors)
	}
	set := s.Rules.Set()
	asks, unmatched := make([]ask, len(req.GetDescriptors())), 0
	for i, d := range req.GetDescriptors() {
		asks[i].cost, asks[i].look = costOf(req, d)
		asks[i].own = d.GetHitsAddend() != nil
		asks[i].back = d.GetIsNegativeHits()
		entries := make([]rules.Entry, len(d.GetEntries()))
		for j, e := range d.GetEntries() {
			entries[j] = rules.Entry{Key: e.GetKey(), Value: e.GetValue()}
		}
		asks[i].rule, asks[i].key = set.Match(req.GetDomain(), entries)
		if o := d.GetLimit(); o != nil && set.Has(req.GetDomain()) {
			unit := rules.Unit(strings.ToLower(o.GetUnit().String()))
			own, key, err := rules.Override(req.GetDomain(), entries, o.GetRequestsPerUnit(), unit, s.Shadow)
			if err != nil {
				return nil, invalid("descriptor %d: limit: %v", i+1, err)
			}
			if !asks[i].rule.IsAs(own) { // else one counter
				asks[i].rule, asks[i].key = own, key
			}
		}
		if asks[i].unmatched = asks[i].rule == nil; asks[i].unmatched {
			unmatched++
		}
	}
	if unmatched == len(asks) {
		s.Metrics.matchedNothing(req.GetDomain(), set.Has(req.GetDomain()))
	}
	replace(asks)
	return asks, nil
}

// costOf returns how many hits a descriptor is; with none of its own it asks whether
// one would be allowed.
func costOf(req *pb.RateLimitRequest, d *ratelimit.RateLimitDescriptor) (cost int64, look bool) {
	switch hits := d.GetHitsAddend(); {
	case hits == nil:
		return max(1, int64(req.GetHitsAddend())), false
	case hits.GetValue() == 0:
		return 1, true
	default:
		return int64(min(hits.GetValue(), math.MaxInt64)), false
	}
}

// replace takes out the rules that others of the request replace.
func replace(asks []ask) {
	var replaced []string
	for i := range asks {
		if r := asks[i].rule; r != nil {
			replaced = append(replaced, r.Replaces...)
		}
	}
	if replaced == nil {
		return
	}
	for i := range asks {
		if r := asks[i].rule; r != nil && r.Name != "" && slices.Contains(replaced, r.Name) {
			asks[i].rule = nil
		}
	}
}
