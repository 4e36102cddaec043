package quota

import (
	"errors"
	"io"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota/share"
)

// mostBuckets is how many bucket ids a stream may report: each takes memory and a lease.
const mostBuckets = 10_000

// MostReport is how many bytes a message of a stream may have. A proxy reports all of its bucket ids
// in one.
const MostReport = 4 << 20

// mostActions is how many actions a message has, about: it must not take long to send.
const mostActions = 500

var (
	errSlow   = status.Error(codes.Aborted, "assignments could not be sent in time: the client reads too slowly")
	errMany   = status.Errorf(codes.ResourceExhausted, "more than %d bucket ids on one stream", mostBuckets)
	errDomain = status.Error(codes.InvalidArgument, "domain: want that of a file of rules in the first report, and no other later")
	errID     = status.Error(codes.InvalidArgument, "bucket_id is empty: want at least one key")
)

// A stream is that of one client. Server.mu guards its fields.
type stream struct {
	domain string
	subs   map[string]*sub // by their bucket ids
	seen   time.Time       // the last report

	out   map[string]queued // to be sent, by their bucket ids
	ready chan struct{}     // has room for one
}

// A queued is an action that has to be sent.
type queued struct {
	sub    *sub
	share  share.ID // that it is an assignment of; 0: it may be sent at any time
	action *action
}

// send queues an action, which takes the place of an older one for the same bucket id.
func (c *sub) send(id share.ID, a *action) {
	c.stream.out[c.name] = queued{c, id, a}
	wake(c.stream.ready)
}

// StreamRateLimitQuotas is envoy.service.rate_limit_quota.v3.RateLimitQuotaService's. A stream
// ends when the client ends it, and when it sends what is no report.
func (s *Server) StreamRateLimitQuotas(server pb.RateLimitQuotaService_StreamRateLimitQuotasServer) error {
	st := &stream{subs: make(map[string]*sub), out: make(map[string]queued), ready: make(chan struct{}, 1)}
	s.open(st)
	defer s.shut(st)
	ended := make(chan error, 3) // each of the two may end, and one assignment may be late
	go func() { ended <- s.receive(server, st) }()
	go func() { ended <- s.send(server, st, ended) }()
	return <-ended
}

// send sends what is queued until the stream ends, which it does at once when it is too slow.
func (s *Server) send(server pb.RateLimitQuotaService_StreamRateLimitQuotasServer, st *stream, ended chan<- error) error {
	for {
		select {
		case <-server.Context().Done():
			return server.Context().Err()
		case <-st.ready:
		}
		out, within := s.take(time.Now(), st)
		if len(out) == 0 {
			continue
		}
		late := time.AfterFunc(within, func() { ended <- errSlow })
		err := server.Send(&pb.RateLimitQuotaResponse{BucketAction: out})
		if !late.Stop() {
			return errSlow
		}
		if err != nil {
			return err
		}
	}
}

// receive reads reports until the stream ends.
func (s *Server) receive(server pb.RateLimitQuotaService_StreamRateLimitQuotasServer, st *stream) error {
	for {
		reports, err := server.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil // the client has ended the stream
			}
			return err
		}
		if err := s.report(st, reports); err != nil {
			return err
		}
	}
}

// take returns actions that are queued and may be sent, for one message, and how long that may take.
// It leaves the others. An assignment of a share that comes late may be in force after others have
// their shares. Any other action may take as long as an assignment lives.
func (s *Server) take(now time.Time, st *stream) (out []*action, within time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	within = s.TTL
	for name, q := range st.out {
		if len(out) >= mostActions {
			wake(st.ready)
			break
		}
		delete(st.out, name)
		if q.share != 0 {
			if q.sub.share != q.share || q.sub.bucket == nil || !q.sub.bucket.share.Sent(now, q.share) {
				continue
			}
			within = s.Delivery / 2
		}
		out = append(out, q.sub.steps(q.action)...)
	}
	return out, within
}

// steps returns the actions that make the client follow the action: they are applied in their
// order. Envoy goes on with the token bucket that it has, perhaps from an earlier stream, if only the
// seconds of fill_interval differ. So a rule for all hits comes between them.
func (c *sub) steps(a *action) []*action {
	b := a.GetQuotaAssignmentAction().GetRateLimitStrategy().GetTokenBucket()
	interval := b.GetFillInterval().AsDuration()
	if b == nil || interval == c.interval {
		return []*action{a}
	}
	c.interval = interval
	return []*action{assign(a.GetBucketId(), a.GetQuotaAssignmentAction().GetAssignmentTimeToLive().AsDuration(), blanket(typev3.RateLimitStrategy_DENY_ALL)), a}
}

// report takes in the reports of a message, and sends the assignments that follow from them.
func (s *Server) report(st *stream, reports *pb.RateLimitQuotaUsageReports) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.streams[st] {
		return nil // it has ended
	}
	if d := reports.GetDomain(); st.domain == "" {
		st.domain = d
	} else if d != "" && d != st.domain {
		return errDomain
	}
	if st.domain == "" {
		return errDomain
	}
	now := time.Now()
	st.seen = now
	touched := make(map[*bucket]bool)
	for _, usage := range reports.GetBucketQuotaUsages() {
		c, err := s.subscribe(st, usage.GetBucketId())
		if err != nil {
			return err
		}
		s.metrics.used(usage.GetNumRequestsAllowed(), usage.GetNumRequestsDenied())
		hits := usage.GetNumRequestsAllowed() + usage.GetNumRequestsDenied()
		if hits > 0 || c.used.IsZero() {
			c.used = now
		}
		if c.bucket == nil {
			s.blanket(now, c)
			continue
		}
		c.bucket.share.Report(now, c.share, int64(min(hits, 1<<40)), min(usage.GetTimeElapsed().AsDuration(), time.Hour))
		touched[c.bucket] = true
	}
	for b := range touched {
		s.decide(now, b)
	}
	return nil
}

// subscribe returns the subscription for a bucket id, a new one with its first report.
func (s *Server) subscribe(st *stream, id *pb.BucketId) (*sub, error) {
	if len(id.GetBucket()) == 0 {
		return nil, errID
	}
	name := nameOf(id)
	if c := st.subs[name]; c != nil {
		return c, nil
	}
	if len(st.subs) >= mostBuckets {
		return nil, errMany
	}
	c := &sub{stream: st, name: name, id: proto.CloneOf(id)}
	st.subs[name] = c
	s.follow(c)
	return c, nil
}

// nameOf returns a text that no other bucket id has. The order of its keys does not matter.
func nameOf(id *pb.BucketId) string {
	name, _ := proto.MarshalOptions{Deterministic: true}.Marshal(id) // an error only for texts that a message cannot have
	return string(name)
}
