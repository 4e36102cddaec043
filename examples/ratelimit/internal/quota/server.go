package quota

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota/share"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
)

// Config is what a [Server] is made of.
type Config struct {
	Client   *cluster.Client
	Rules    *rules.Store
	Prefix   string        // what all keys begin with
	TTL      time.Duration // time to live of assignments; Envoy takes whole seconds
	Delivery time.Duration // how long an assignment takes to reach its client, at most; less than half of TTL
	Log      *slog.Logger
}

const (
	leastSilence = 15 * time.Second // Envoy reports every 5 s
	idle         = 60               // times to live without a hit, before a bucket is abandoned
	renewals     = 10               // of leases, and of decisions, in a time to live
	leastTick    = 10 * time.Millisecond
)

// A Server is a rate limit quota service. Make it with [New], and let [Server.Run] run. Streams end before
// Run does; assignments stay in force until their time to live ends.
type Server struct {
	pb.UnimplementedRateLimitQuotaServiceServer
	Config

	instance string
	calls    int64 // that have asked for leases; of Run
	metrics  *metrics
	kicked   chan struct{} // leases are needed; has room for one

	mu      sync.Mutex // guards what follows, streams and buckets
	set     *rules.Set // that subscriptions follow
	streams map[*stream]bool
	buckets map[string]*bucket
	next    share.ID
	without time.Time // since when leases cannot be renewed; zero: they can
}

// New returns a server, and registers its metrics.
func New(c Config, registry prometheus.Registerer) *Server {
	s := &Server{
		Config: c, instance: rand.Text(), kicked: make(chan struct{}, 1),
		set: c.Rules.Set(), streams: make(map[*stream]bool), buckets: make(map[string]*bucket),
	}
	s.metrics = newMetrics(registry, s)
	return s
}

// silence is how long a client may send no report before its assignments are not renewed.
func (s *Server) silence() time.Duration { return max(s.TTL, leastSilence) }

func (s *Server) open(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.seen = time.Now()
	s.streams[st] = true
}

func (s *Server) shut(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
	for _, c := range st.subs {
		s.unfollow(c)
	}
}

// kick has leases renewed at once.
func (s *Server) kick() { wake(s.kicked) }

// wake resumes the goroutine that receives from a channel with room for one value.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run renews leases and assignments until the context ends. Then it gives the leases back, as
// of the time when the last assignment ends.
func (s *Server) Run(ctx context.Context) {
	var ticking sync.WaitGroup
	defer ticking.Wait()
	ticking.Go(func() { s.tick(ctx) })
	every := time.NewTicker(max(leastTick, s.TTL/renewals))
	defer every.Stop()
	for {
		s.renew(ctx)
		select {
		case <-ctx.Done():
			s.release()
			return
		case <-every.C:
		case <-s.kicked:
		}
	}
}

// tick looks for what is due.
func (s *Server) tick(ctx context.Context) {
	every := time.NewTicker(max(leastTick, s.Delivery/4))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			s.look()
		}
	}
}

func (s *Server) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.Rules.Set()
	reloaded := set != s.set
	s.set = set
	now := time.Now()
	for st := range s.streams {
		for _, c := range st.subs {
			if reloaded {
				had := c.bucket
				if s.follow(c); c.bucket != nil && c.bucket != had {
					c.bucket.share.Report(now, c.share, 0, 0)
				}
			}
			s.blanket(now, c)
		}
	}
	for _, b := range s.buckets {
		s.decide(now, b)
	}
}
