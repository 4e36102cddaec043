package main

import (
	"time"

	"github.com/redislanes/redislanes/pool"
)

// poolSettings are those of all kinds of pool. A number that is 0 has the library's
// default.
type poolSettings struct {
	Kind string `name:"pool" enum:"laned,fixed,adaptive" default:"laned" help:"Kind: laned (a few, which all share), fixed or adaptive."`
	Size int    `name:"pool-size" help:"How many lanes, or how many connections of a fixed pool; of an adaptive one, at most. Default 4 lanes, or 50 in a cluster and 10 to a server that stands alone."`

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
		return pool.Adaptive{Max: p.Size, Options: o}
	default:
		return pool.Laned{Lanes: p.Size, Options: o}
	}
}
