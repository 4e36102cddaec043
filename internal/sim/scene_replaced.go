package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// replacedScenes are about a cluster that another one takes the place of.
func replacedScenes() []scene {
	return []scene{{
		kind: kind{name: "the whole cluster is replaced", harmless: true, gentle: true, quiet: true, weight: 6, least: 9 * time.Second, most: 9 * time.Second},
		fits: func(s *Settings) bool {
			return !s.NoCluster && !s.Unset && s.Dialing == wellBehaved && s.Latency <= 5*time.Millisecond && !s.Config.Standalone && s.Config.RefreshEvery >= 0
		},
		play: clusterReplaced,
	}}
}

// clusterName is the only seed of three behind which there is a server.
const clusterName = "cluster.example:6379"

// A stand is a cluster that only a scene's own client knows.
type stand struct {
	model *model.Cluster
	hosts []*simnet.Host
}

// stand puts up a cluster at addresses of its own.
func (p *play) stand(n int) *stand {
	s := &stand{model: model.New(model.Options{
		Seed: p.f.With + uint64(n), Primaries: 2, WithoutNX: p.w.settings.Old,
		Addr: func(i int) string { return fmt.Sprintf("10.%d.%d.%d:6379", 8+n, p.f.With>>8%256, i+1) },
	})}
	for _, node := range s.model.Nodes() {
		s.hosts = append(s.hosts, p.w.net.Listen(node.Addr(), s.model.Serve(node)))
	}
	return s
}

// lead makes the cluster's name lead to the first node.
func (p *play) lead(s *stand) {
	s.hosts = append(s.hosts, p.w.net.Listen(clusterName, s.model.Serve(s.model.Nodes()[0])))
}

func (s *stand) kill() {
	for _, n := range s.model.Nodes() {
		n.Kill()
	}
	for _, h := range s.hosts {
		h.Kill()
	}
}

// own returns the settings for a client of a scene's own servers.
func (p *play) own() cluster.Config {
	c := p.w.settings.Config
	c.Lazy, c.Sentinel, c.Dialer.Credentials, c.Dialer.ReauthEvery = false, nil, nil, 0
	c.Dialer.NetDial = p.w.netDial()
	return c
}

var errStillLost = errors.New("the client has not found the cluster that has taken the place of the old one")

// clusterReplaced starts a client of a cluster of which two of three seeds are dead, and
// replaces the cluster: other IDs, other addresses, and the name leads there. The old ones
// refuse connections, or leave them without an answer. What a new
// client would find, the one that runs finds, too.
func clusterReplaced(p *play) {
	first := p.stand(0)
	p.lead(first)
	seeds := []string{nobody + "7001", nobody + "7002", clusterName}
	p.call("replaced", 0, func(a *attempt) {
		a.Sure, a.Own = true, true
		client, err := p.own().New(a.ctx, seeds)
		if err != nil {
			a.Err = err
			first.kill()
			return
		}
		defer client.Close()
		set := func(within time.Duration) error {
			ctx, cancel := context.WithTimeout(a.ctx, within)
			defer cancel()
			return client.Do(ctx, radix.Cmd(nil, "SET", "k", "v"))
		}
		if a.Err = set(time.Second); a.Err != nil {
			first.kill()
			return
		}
		time.Sleep(500 * time.Millisecond)
		if first.kill(); p.f.With%2 == 0 { // as deleted pods do, in some networks
			for _, n := range first.model.Nodes() {
				defer p.w.net.Impose(us, n.Addr(), simnet.Conditions{Blackhole: true})()
			}
		}
		time.Sleep(200 * time.Millisecond)
		second := p.stand(1)
		defer second.kill()
		p.lead(second)
		for a.Err = errStillLost; a.Err != nil && p.left() > 1200*time.Millisecond; {
			if err := set(500 * time.Millisecond); err == nil {
				a.Err = nil
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}
