package engine

import (
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
)

// located returns the answer with the nodes in the client's zone marked.
func (q asker) located(a answer) answer {
	if a.err == nil {
		a.err = q.locate(a.told)
	}
	return a
}

// locate notes which nodes of a map are in the client's zone. It calls a function of the
// user's.
func (q asker) locate(v *slots.Map) (err error) {
	if q.cfg.Zone == "" {
		return nil
	}
	known := make(map[string]string) // a node may be in thousands of ranges
	for _, r := range v.Ranges {
		for i := range r.Nodes {
			n := &r.Nodes[i]
			zone, ok := known[n.Addr]
			if !ok {
				if zone, err = q.zoneOf(*n); err != nil {
					return err
				}
				known[n.Addr] = zone
			}
			n.Near = zone == q.cfg.Zone
		}
	}
	return nil
}

// zoneOf returns the zone of a node: what ZoneOf says or, if that does not know, what the
// servers tell.
func (q asker) zoneOf(n slots.NodeAddr) (zone string, err error) {
	if q.cfg.ZoneOf == nil {
		return n.Zone, nil
	}
	defer guard.Catch("Config.ZoneOf", &err)
	if zone = q.cfg.ZoneOf(n.Addr); zone == "" {
		zone = n.Zone
	}
	return zone, nil
}
