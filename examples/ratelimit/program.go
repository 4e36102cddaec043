package main

import (
	"context"
	_ "embed"
	"log/slog"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/service"
	"github.com/redislanes/redislanes/limit/limitmetrics"
	"github.com/redislanes/redislanes/metrics"
)

//go:embed rules.yaml
var defaultRules []byte

// A program is what runs: from the client up to the listeners.
type program struct {
	log     *slog.Logger
	metrics *service.Metrics
	store   *rules.Store
	set     *rules.Set // that was logged last
	server  *service.Server

	closers []func() // in the order in which they were opened
}

func start(ctx context.Context, s *settings, log *slog.Logger) (p *program, err error) {
	p = &program{log: log}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	client, err := p.connect(ctx, s, registry)
	if err != nil {
		return p, err
	}
	decisions := limitmetrics.New()
	registry.MustRegister(decisions)
	config := s.Limit.config()
	config.Observer = service.LogOutages(decisions, log)
	limiter, err := config.New(client)
	if err != nil {
		return p, err
	}
	p.onClose(limiter.Close)
	limitOf := s.limitOf(limiter)
	if s.Rules.Path == "" {
		p.store, err = rules.Fixed(rules.Source{Name: "rules.yaml (embedded)", Text: defaultRules}, limitOf)
	} else {
		p.store, err = rules.Open(s.Rules.Path, limitOf)
	}
	if err != nil {
		return p, err
	}
	p.metrics = service.NewMetrics(registry, p.store)
	var shedder *service.Shedder
	if s.Shed.On {
		shedder = service.NewShedder(s.Shed.ShedConfig, registry)
	}
	var redis service.Source
	if s.Listen.ReadyNeedsRedis {
		redis = client
	}
	health := service.NewHealth(redis)
	decider := service.New(service.Config{
		Limiter: limiter, Budget: config.Budget, Shadow: s.Rules.Shadow, Rules: p.store, Metrics: p.metrics, Shedder: shedder, MaxMessage: s.Listen.MaxMessage, Log: log,
		Quota: quota.New(quota.Config{
			Client: client, Rules: p.store, Prefix: s.Limit.Prefix, TTL: s.Quota.TTL, Delivery: s.Quota.Delivery, Log: log,
		}, registry),
	})
	p.server, err = service.Listen(ctx, decider, health, registry, s.Listen.ServerConfig)
	return p, err
}

// connect makes the client, and the connections to each node, so that the health is known
// before the first request. A node that does not answer is not the end: its limits fail open or
// closed, and with -ready-needs-redis the service is not ready until it does.
func (p *program) connect(ctx context.Context, s *settings, registry prometheus.Registerer) (*cluster.Client, error) {
	config, addrs, err := s.config()
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		emulated, stop, err := startEmulated()
		if err != nil {
			return nil, err
		}
		p.onClose(stop)
		addrs = emulated
		p.log.Info("no addresses are given: using a cluster that is emulated in this process", "nodes", len(addrs))
	}
	ofClient := metrics.New()
	config.Trace, config.Logger = ofClient.Trace(), p.log
	ctx, cancel := context.WithTimeout(ctx, s.Redis.ConnectTimeout)
	defer cancel()
	client, err := config.New(ctx, addrs)
	if err != nil {
		return nil, err
	}
	p.onClose(client.Close)
	registry.MustRegister(ofClient)
	return client, nil
}

// run serves until the context ends and the last request is answered.
func (p *program) run(ctx context.Context) error {
	addrs := p.server.Addrs()
	p.set = p.store.Set()
	p.log.Info("serving", "grpc", addrs.GRPC, "http", addrs.HTTP, "admin", addrs.Admin, "live", "http://"+addrs.Admin+"/live/", "domains", p.set.Domains(), "rules", p.set.Rules())
	watching, stop := context.WithCancel(context.Background())
	var watcher sync.WaitGroup
	watcher.Go(func() { p.store.Watch(watching, p.reloaded) })
	defer watcher.Wait()
	defer stop()
	err := p.server.Run(ctx)
	if err == nil {
		p.log.Info("stopped: every request was answered")
	}
	return err
}

// reloaded is told when the rules' files have changed.
func (p *program) reloaded(err error) {
	p.metrics.Reloaded(err)
	if err != nil {
		p.log.Error("the rules have a mistake: those before stay in force", "error", err)
		return
	}
	set := p.store.Set()
	p.log.Info("new rules are in force", "domains", set.Domains(), "rules", set.Rules())
	if gone := p.set.Without(set); len(gone) > 0 {
		p.log.Warn("domains have no rules any more: their requests are not limited", "domains", gone)
	}
	p.set = set
}

// onClose notes what has to be closed at the end, the last one first.
func (p *program) onClose(f func() error) {
	p.closers = append(p.closers, func() {
		if err := f(); err != nil {
			p.log.Warn("closing", "error", err)
		}
	})
}

func (p *program) close() {
	for _, f := range slices.Backward(p.closers) {
		f()
	}
	p.closers = nil
}
