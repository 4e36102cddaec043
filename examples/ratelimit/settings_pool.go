package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

var strategies = map[string]lanes.Strategy{
	"first-fit": lanes.FirstFit, "round-robin": lanes.RoundRobin, "least-used": lanes.LeastUsed,
	"affinity": lanes.Affinity, "power-of-two": lanes.PowerOfTwo,
}

// poolSettings are those of all kinds of pool. A number that is 0 has the library's
// default.
type poolSettings struct {
	Kind string `name:"pool" enum:"laned,fixed,adaptive" default:"laned" help:"Kind: laned (a few, which all share), fixed or adaptive."`

	Size        int           `name:"pool-size" help:"Fixed: how many. Default 50 in a cluster, 10 to a server that stands alone."`
	Min         int           `name:"pool-min" help:"Adaptive: least. Default 1."`
	Max         int           `name:"pool-max" help:"Adaptive: most. Default as for --pool-size."`
	IdleTimeout time.Duration `name:"pool-idle-timeout" help:"Adaptive: how long there must be little load until connections are closed. Default 10s."`

	Lanes        int    `name:"lanes" help:"Laned: how many. Default 4."`
	Strategy     string `name:"lane-strategy" enum:"first-fit,round-robin,least-used,affinity,power-of-two" default:"first-fit" help:"Laned: how one is chosen: first-fit, round-robin, least-used, affinity or power-of-two."`
	SlowLanes    int    `name:"slow-lanes" help:"Laned: how many for slow commands; negative for none. Default 2."`
	MaxInFlight  int    `name:"max-in-flight" help:"Laned: batches in flight on one, at most. Default 1024."`
	MaxDedicated int    `name:"max-dedicated" help:"Laned: extra ones for commands that need one of their own, at most. Default 50."`

	MaxWaiters   int           `name:"max-waiters" help:"Batches that may wait for a connection; negative for none. Default 65536."`
	StallTimeout time.Duration `name:"stall-timeout" help:"How long a node may be silent until its connections are closed. Default 3s."`
	SuspectAfter time.Duration `name:"suspect-after" help:"How long a node may be silent until it is asked, and how long the answer may take. Default 500ms."`
	MaxAge       time.Duration `name:"max-age" help:"How long a connection is used, for balancers, and for --tls-cert and --password-file that change; at least 1s. Default: as long as it works."`
}

func (p *poolSettings) config() pool.Config {
	o := pool.Options{
		MaxWaiters: p.MaxWaiters, SuspectAfter: p.SuspectAfter, StallTimeout: p.StallTimeout, MaxAge: p.MaxAge,
	}
	switch p.Kind {
	case "fixed":
		return pool.Fixed{Size: p.Size, Options: o}
	case "adaptive":
		return pool.Adaptive{Min: p.Min, Max: p.Max, IdleTimeout: p.IdleTimeout, Options: o}
	default:
		return pool.Laned{
			Lanes: p.Lanes, Strategy: strategies[p.Strategy],
			SlowLanes: p.SlowLanes, MaxInFlight: p.MaxInFlight, MaxDedicated: p.MaxDedicated, Options: o,
		}
	}
}

// check refuses settings that would have no effect.
func (p *poolSettings) check() error {
	var errs []error
	without := func(set bool, flag, kinds string) {
		if set {
			errs = append(errs, fmt.Errorf("--%s needs --pool=%s, and it is %s", flag, kinds, p.Kind))
		}
	}
	if p.Kind != "fixed" {
		without(p.Size != 0, "pool-size", "fixed")
	}
	if p.Kind != "adaptive" {
		without(p.IdleTimeout != 0, "pool-idle-timeout", "adaptive")
		without(p.Min != 0, "pool-min", "adaptive")
		without(p.Max != 0, "pool-max", "adaptive")
	}
	if p.Kind != "laned" {
		without(p.Lanes != 0, "lanes", "laned")
		without(p.Strategy != "first-fit", "lane-strategy", "laned")
		without(p.SlowLanes != 0, "slow-lanes", "laned")
		without(p.MaxInFlight != 0, "max-in-flight", "laned")
		without(p.MaxDedicated != 0, "max-dedicated", "laned")
	}
	return errors.Join(errs...)
}
