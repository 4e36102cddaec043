// Command peers measures Redislanes beside rueidis, go-redis and radix: one
// process, one cluster, the clients in turn, round after round. It starts the
// cluster itself: three primaries with a replica each.
//
// Each request is INCRBY and EXPIRE for each of its keys, in one pipeline, as a rate limiter sends
// it. Callers send their next request when they have the reply to the last one (a closed loop), so
// that rates are comparable; a request that fails ends the run.
//
// Usage, from the root of the repository:
//
//	make peers PEERFLAGS="-callers 100 -for 2s -rounds 3"
//
// The module is one of its own, so that users of the library do not depend on its rivals.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redislanes/redislanes/internal/servers"

	"github.com/redislanes/redislanes/bench/evidence"
	"github.com/redislanes/redislanes/bench/internal/child"
	"github.com/redislanes/redislanes/bench/internal/network"
	"github.com/redislanes/redislanes/bench/rawfile"
)

// peers is one run.
type peers struct {
	settings
	*record
	target
	servers *servers.Cluster
	network *network.Network // nil: none
	out     *rawfile.Writer
}

func main() {
	child.Main()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	p := &peers{record: newRecord()}
	if err := p.parse(os.Args[1:]); err != nil {
		return err
	}
	if p.rewrite != "" {
		return evidence.Rewrite(os.Stdout, p.rewrite, "peers", tableOf, picture)
	}
	if p.from != nil {
		measured, err := readRaw(p.from)
		if err == nil {
			measured.report(os.Stdout)
		}
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if p.out, err = rawfile.Create(p.raw); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	defer p.stop()
	return p.all(ctx)
}

// all measures what the flags ask for, and reports it.
func (p *peers) all(ctx context.Context) error {
	began := p.newStart()
	if err := p.note(line{Start: &began}); err != nil {
		return err
	}
	err := p.measure(ctx)
	if p.large { // what was measured is reported in any case
		t := newRows()
		p.addRows(t)
		fmt.Printf("%v\n\n%v", began, t)
	} else {
		p.report(os.Stdout)
	}
	fmt.Printf("%s", p.disturbed())
	if ctx.Err() != nil {
		return errors.New("was interrupted: the tables have what was measured until then")
	}
	if err != nil {
		return fmt.Errorf("the tables have what was measured until then: %w", err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	return errors.Join(p.out.Write(line{End: &now}), p.out.Close())
}

// note adds a line to the record and to the raw file.
func (p *peers) note(l line) error { return errors.Join(p.read(l), p.out.Write(l)) }

func (p *peers) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	started, err := servers.LaunchCluster(ctx, servers.Options{Primaries: p.primaries, Replicas: p.replicas, TLS: p.overTLS})
	if err != nil {
		return err
	}
	p.servers, p.target = started, target{addrs: started.Addrs()[:p.primaries], tls: started.TLSConfig()}
	if p.roundTrip == 0 {
		return nil
	}
	if p.network, err = (network.Config{Servers: p.addrs, RoundTrip: p.roundTrip}).Start(ctx); err != nil {
		return errors.Join(err, started.Close())
	}
	p.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, p.network.AddrMap(addr))
	}
	return nil
}

func (p *peers) stop() {
	if p.network != nil {
		_ = p.network.Close()
	}
	_ = p.servers.Close()
}

// serverVersion is what redis-server calls itself, without its build.
func serverVersion() string {
	server, _ := servers.Binary()
	version, _ := exec.Command(server, "--version").Output()
	words := strings.Fields(string(version))
	return strings.Join(words[:min(3, len(words))], " ")
}

// measure lets each client have its turn in each round, so that what the machine
// does meanwhile meets all of them.
func (p *peers) measure(ctx context.Context) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	switch {
	case p.large:
		return p.measureLarge(ctx)
	case p.cutting:
		return p.cutAll(ctx)
	case p.leases:
		return p.measureLeases(ctx)
	case p.lives:
		return p.printLives(ctx)
	case p.profiling:
		return p.measureParts(ctx)
	}
	if p.limited {
		ca, _, _ := p.servers.TLSFiles()
		limit, err := limitOf(ctx, p.target, ca)
		if err == nil {
			err = p.note(line{Limit: &limit})
		}
		if err != nil {
			return err
		}
	}
	for _, callers := range p.settings.callers {
		for _, s := range p.settings.scenarios {
			if err := p.compare(ctx, callers, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle waits until the cluster is at rest: replicas copy their primaries when
// they have just started.
func (p *peers) settle(ctx context.Context) error {
	for _, node := range p.servers.Nodes()[:p.primaries] {
		for synced := false; !synced; {
			var info string
			if err := node.Do(ctx, &info, "INFO", "replication"); err != nil {
				return err
			}
			synced = strings.Count(info, "state=online") == p.replicas
		}
	}
	return nil
}

const warmUp = 150 * time.Millisecond

func (p *peers) compare(ctx context.Context, callers int, s scenario) error {
	var loads []*load
	for _, c := range p.settings.clients {
		opened, err := c.open(ctx, p.target)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		defer opened.close()
		loads = append(loads, newLoad(s, callers, opened))
		// All have dialled before the first is measured: a server that accepts hundreds of
		// connections over TLS is busy for longer than its next client's warm-up.
		if _, err := loads[len(loads)-1].run(ctx, warmUp); err != nil {
			return fmt.Errorf("%s, first warm-up: %w", c.name, err)
		}
	}
	for round := range p.rounds {
		// In another order each time: who comes first finds servers that have just
		// started, or those that the one before has left busy.
		for _, i := range rand.New(rand.NewPCG(uint64(round), uint64(callers))).Perm(len(p.settings.clients)) {
			c := p.settings.clients[i]
			if ctx.Err() != nil {
				return ctx.Err()
			}
			fmt.Fprintf(os.Stderr, "%d callers, %s, round %d of %d: %s\n", callers, s.name, round+1, p.rounds, c.name)
			if _, err := loads[i].run(ctx, warmUp); err != nil {
				return fmt.Errorf("%s, warm-up: %w", c.name, err)
			}
			t, err := p.turn(ctx, loads[i], cell{p.overTLS, callers, s.name, c.name}, round)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if t.Requests == 0 {
				return fmt.Errorf("%s: no request ended within %v: use a longer -for", c.name, p.during)
			}
			if err := p.note(line{Turn: &t}); err != nil {
				return err
			}
		}
	}
	return nil
}
