package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/live"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota"
)

// ServerConfig is the settings of a [Server]. Its tags are for package flags.
type ServerConfig struct {
	GRPCAddr  string `name:"grpc-addr" default:":8081" help:"Address for gRPC."`
	HTTPAddr  string `name:"http-addr" default:":8080" help:"Address for HTTP."`
	AdminAddr string `name:"admin-addr" default:"127.0.0.1:6070" help:"Address for /metrics, /live/ and /debug/pprof."`
	Pprof     bool   `name:"pprof" default:"true" negatable:"" help:"Serve /debug/pprof at the admin address."`

	MaxConnectionAge time.Duration `name:"grpc-max-connection-age" default:"0s" help:"How long a gRPC connection lives, so that clients find new instances; 0 for no end."`
	DrainDelay       time.Duration `name:"drain-delay" default:"2s" help:"How long the service goes on after it has said that it is not ready, so that balancers notice."`
	ShutdownTimeout  time.Duration `name:"shutdown-timeout" default:"10s" help:"How long requests that are running have then."`
}

const (
	httpHeaderTimeout = 5 * time.Second
	httpReadTimeout   = 10 * time.Second
	httpIdleTimeout   = 2 * time.Minute
	httpMostHeader    = 28 << 10 // net/http takes 4 KiB more
)

// HTTPWriteTimeout is how long a response may take, from the end of the request's
// header on.
const HTTPWriteTimeout = 30 * time.Second

// A Server has the listeners of a service. Make it with [Listen].
type Server struct {
	config ServerConfig
	health *Health
	quota  *quota.Server // nil: there is none
	log    *slog.Logger

	grpc        *grpc.Server
	http, admin *http.Server

	grpcListener, httpListener, adminListener net.Listener
}

// Listen opens the listeners. Connections wait in them until [Server.Run].
func Listen(ctx context.Context, s *Service, h *Health, metrics prometheus.Gatherer, c ServerConfig) (*Server, error) {
	server := &Server{config: c, health: h, quota: s.Quota, log: s.Log, grpc: newGRPC(s, h, c)}
	server.http = newHTTP(s.Handler(h), s.Log)
	server.http.ReadTimeout, server.http.WriteTimeout = httpReadTimeout, HTTPWriteTimeout
	server.admin = newHTTP(adminHandler(metrics, c.Pprof), s.Log) // a profile takes as long as it is asked to
	var listen net.ListenConfig
	for _, l := range []struct {
		name, addr string
		to         *net.Listener
	}{{"gRPC", c.GRPCAddr, &server.grpcListener}, {"HTTP", c.HTTPAddr, &server.httpListener}, {"admin", c.AdminAddr, &server.adminListener}} {
		var err error
		if *l.to, err = listen.Listen(ctx, "tcp", l.addr); err != nil {
			server.close()
			return nil, fmt.Errorf("%s listener: %w", l.name, err)
		}
	}
	return server, nil
}

func newHTTP(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: httpHeaderTimeout, IdleTimeout: httpIdleTimeout, MaxHeaderBytes: httpMostHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

func adminHandler(metrics prometheus.Gatherer, profiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.Handle("GET /live/", live.Handler())
	mux.Handle("GET /{$}", http.RedirectHandler("/live/", http.StatusFound))
	if profiles {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// Addrs are where a server listens.
type Addrs struct{ GRPC, HTTP, Admin string }

// Addrs returns where the server listens, host:port.
func (s *Server) Addrs() Addrs {
	return Addrs{s.grpcListener.Addr().String(), s.httpListener.Addr().String(), s.adminListener.Addr().String()}
}

func (s *Server) close() {
	for _, l := range []net.Listener{s.grpcListener, s.httpListener, s.adminListener} {
		if l != nil {
			_ = l.Close()
		}
	}
	s.grpc.Stop()
}

// Run serves until the context ends, and then stops: the service is not ready any
// more, after DrainDelay no requests are accepted, and those that are running end. Its
// error says why it could not serve, or that requests were cut off.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 3)
	var serving sync.WaitGroup
	serve := func(name string, serve func(net.Listener) error, l net.Listener) {
		serving.Go(func() {
			if err := serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	serve("gRPC", s.grpc.Serve, s.grpcListener)
	serve("HTTP", s.http.Serve, s.httpListener)
	serve("admin", s.admin.Serve, s.adminListener)
	telling, stopTelling := context.WithCancel(context.Background())
	serving.Go(func() { s.health.Run(telling) })
	if s.quota != nil {
		serving.Go(func() { s.quota.Run(telling) })
	}

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("stopping", "delay", s.config.DrainDelay)
	case err = <-failed:
	}
	err = errors.Join(err, s.stop())
	stopTelling()
	serving.Wait()
	return err
}

// stop ends what runs. The admin listener is the last, so that the metrics of the end
// can be seen.
func (s *Server) stop() error {
	s.health.Drain()
	time.Sleep(s.config.DrainDelay) // there is nothing to wait for: others have to notice
	s.health.end()
	ctx, cancel := context.WithTimeout(context.Background(), s.config.ShutdownTimeout)
	defer cancel()
	cutOff := func(name string) error {
		return fmt.Errorf("%s: requests were cut off that were still running after %v", name, s.config.ShutdownTimeout)
	}
	var overGRPC, overHTTP error
	var all sync.WaitGroup
	all.Go(func() {
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close()
			overHTTP = cutOff("HTTP")
		}
	})
	if !stopGRPC(ctx, s.grpc) {
		overGRPC = cutOff("gRPC")
	}
	all.Wait()
	_ = s.admin.Close()
	return errors.Join(overHTTP, overGRPC)
}
