package quota

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// mostBuckets is how many bucket ids a stream may report: each takes memory and a lease.
const mostBuckets = 10_000

var (
	errStopping = status.Error(codes.Unavailable, "the service is about to stop: connect to another instance")
	errSlow     = status.Error(codes.Aborted, "assignments were not sent in time: the client reads too slowly, or the service was paused")
	errMany     = status.Errorf(codes.ResourceExhausted, "more than %d bucket ids on one stream", mostBuckets)
	errDomain   = status.Error(codes.InvalidArgument, "domain: want that of a file of rules in the first report, and no other later")
	errID       = status.Error(codes.InvalidArgument, "bucket_id is empty: want at least one key")
)

// A stream is that of one client. Server.mu guards its fields.
type stream struct {
	domain string
	subs   map[string]*sub // by their bucket ids
	seen   time.Time       // the last report

	out   map[string]*action // to be sent, by their bucket ids
	since time.Time          // when the first of out was put there
	ready chan struct{}      // has room for one
}

// send queues an action, which takes the place of an older one for the same bucket id.
func (c *sub) send(now time.Time, a *action) {
	st := c.stream
	if len(st.out) == 0 {
		st.since = now
	}
	st.out[c.name] = a
	select {
	case st.ready <- struct{}{}:
	default:
	}
}

// StreamRateLimitQuotas is envoy.service.rate_limit_quota.v3.RateLimitQuotaService's. A stream
// ends when the client ends it, when it sends what is no report, or when the service stops.
func (s *Server) StreamRateLimitQuotas(server pb.RateLimitQuotaService_StreamRateLimitQuotasServer) error {
	st := &stream{subs: make(map[string]*sub), out: make(map[string]*action), ready: make(chan struct{}, 1)}
	s.open(st)
	defer s.shut(st)
	received := make(chan error, 1)
	go func() { received <- s.receive(server, st) }()
	for {
		select {
		case err := <-received:
			return err
		case <-s.stopping.Done():
			return errStopping
		case <-st.ready:
			if err := s.flush(server, st); err != nil {
				return err
			}
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

// flush sends what is queued. What has waited for too long is not sent: it would be in force
// after its share was given to others.
func (s *Server) flush(server pb.RateLimitQuotaService_StreamRateLimitQuotasServer, st *stream) error {
	s.mu.Lock()
	out, since := slices.Collect(maps.Values(st.out)), st.since
	clear(st.out)
	s.mu.Unlock()
	switch {
	case len(out) == 0:
		return nil
	case time.Since(since) > s.Delivery/2:
		return errSlow
	}
	return server.Send(&pb.RateLimitQuotaResponse{BucketAction: out})
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
	keys := make([]string, 0, len(id.GetBucket()))
	for k := range id.GetBucket() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var name []byte
	for _, k := range keys {
		for _, text := range []string{k, id.GetBucket()[k]} {
			name = strconv.AppendInt(name, int64(len(text)), 10)
			name = append(append(name, ':'), text...)
		}
	}
	return string(name)
}
