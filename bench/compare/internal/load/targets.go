package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/internal/network"
	"github.com/redislanes/redislanes/bench/table"
)

const launchTimeout = time.Minute

// Targets are the clusters of a comparison and the networks before them, each
// started when it is first needed. They are used by one goroutine.
type Targets struct {
	progress io.Writer // is told what is about to be started

	given    []string // addresses of an existing cluster
	dialer   lanes.Dialer
	clusters map[int]*target // by the number of primaries; 0 for the given one
	networks map[string]*network.Network
}

// A target is one cluster.
type target struct {
	addrs    []string // of all primaries
	launched *servers.Cluster
	version  string
	prepared map[string]bool
}

// NewTargets returns targets for the existing cluster of the environment variables REDIS_ADDRS,
// REDIS_USERNAME and REDIS_PASSWORD, or for clusters to be started.
func NewTargets(progress io.Writer) *Targets {
	t := &Targets{progress: progress, clusters: make(map[int]*target), networks: make(map[string]*network.Network)}
	if env := os.Getenv("REDIS_ADDRS"); env != "" {
		t.given = strings.Split(env, ",")
		t.dialer = lanes.Dialer{Username: os.Getenv("REDIS_USERNAME"), Password: os.Getenv("REDIS_PASSWORD")}
	}
	return t
}

// Given reports whether an existing cluster is measured.
func (t *Targets) Given() bool { return len(t.given) > 0 }

// target returns a cluster of so many primaries, or the given one.
func (t *Targets) target(ctx context.Context, primaries int) (*target, error) {
	if t.Given() {
		primaries = 0
	}
	if s := t.clusters[primaries]; s != nil {
		return s, nil
	}
	s := &target{prepared: make(map[string]bool)}
	seeds := t.given
	if !t.Given() {
		if !servers.HaveServer() {
			return nil, errors.New("no redis-server in the PATH: install it, or name an existing cluster in REDIS_ADDRS")
		}
		table.Print(t.progress, "starting a cluster of %d\n", primaries)
		start, cancel := context.WithTimeout(ctx, launchTimeout)
		defer cancel()
		launched, err := servers.LaunchCluster(start, servers.Options{
			Primaries: primaries,
			// A node that has met no other does not know its own address, and one without
			// an address is reached where it was asked for the map: past the network.
			Directives: []string{"cluster-announce-ip 127.0.0.1"},
		})
		if err != nil {
			return nil, err
		}
		s.launched, seeds = launched, launched.Addrs()
	}
	t.clusters[primaries] = s
	return s, s.describe(ctx, t.dialer, seeds)
}

// describe asks the cluster for its primaries and its version.
func (s *target) describe(ctx context.Context, d lanes.Dialer, seeds []string) error {
	client, err := cluster.Config{Dialer: d}.New(ctx, seeds)
	if err != nil {
		return err
	}
	defer client.Close()
	nodes, err := client.Clients()
	if err != nil {
		return err
	}
	for addr := range nodes {
		s.addrs = append(s.addrs, addr)
	}
	slices.Sort(s.addrs)
	s.version = version(ctx, client)
	return nil
}

// plainDialer dials connections of radix, for questions past the pools.
func (t *Targets) plainDialer() radix.Dialer {
	return radix.Dialer{AuthUser: t.dialer.Username, AuthPass: t.dialer.Password}
}

// version returns what a node says of itself. It is for the record only, so a
// cluster that does not tell is as good.
func version(ctx context.Context, client *cluster.Client) string {
	var info string
	if err := client.Do(ctx, radix.Cmd(&info, "INFO", "server")); err != nil {
		return "unknown"
	}
	_, v, _ := strings.Cut(info, "redis_version:")
	v, _, _ = strings.Cut(v, "\r")
	return cmp.Or(v, "unknown")
}

func (t *Targets) prepareOnce(ctx context.Context, s *target, l settings.Load, keys *keySet) error {
	what := preparedAs(l)
	if s.prepared[what] {
		return nil
	}
	client, err := cluster.Config{Dialer: t.dialer}.New(ctx, s.addrs)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := prepare(ctx, client, l, keys); err != nil {
		return err
	}
	s.prepared[what] = true
	return nil
}

// network returns the network of the load before the servers.
func (t *Targets) network(ctx context.Context, s *target, l settings.Load) (*network.Network, error) {
	config := network.Config{RoundTrip: l.RoundTrip.Duration, Bandwidth: int(l.Bandwidth)}
	key := fmt.Sprint(l.Primaries, config)
	if n := t.networks[key]; n != nil {
		return n, nil
	}
	config.Servers = s.addrs
	n, err := config.Start(ctx)
	if err != nil {
		return nil, fmt.Errorf("network with a round trip of %v: %w", l.RoundTrip, err)
	}
	t.networks[key] = n
	return n, nil
}

// RedisVersions returns the versions of the servers that were used.
func (t *Targets) RedisVersions() []string {
	var all []string
	for _, s := range t.clusters {
		if s.version != "" && !slices.Contains(all, s.version) {
			all = append(all, s.version)
		}
	}
	slices.Sort(all)
	return all
}

// Close stops what was started.
func (t *Targets) Close() error {
	var errs []error
	for _, n := range t.networks {
		errs = append(errs, n.Close())
	}
	for _, s := range t.clusters {
		if s.launched != nil {
			errs = append(errs, s.launched.Close())
		}
	}
	t.networks, t.clusters = nil, nil
	return errors.Join(errs...)
}
