package engine

import (
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
)

// located is an answer of which the nodes in the client's zone are known.
func (c *Client) located(a answer) answer {
	if a.err == nil {
		a.err = c.locate(a.view)
	}
	return a
}

// locate notes which nodes of a map are in the client's zone. It calls a function of the
// user's.
func (c *Client) locate(v *slots.Map) (err error) {
	if c.cfg.Zone == "" {
		return nil
	}
	known := make(map[string]string) // a node may be in thousands of ranges
	for _, r := range v.Ranges {
		for i := range r.Nodes {
			n := &r.Nodes[i]
			zone, ok := known[n.Addr]
			if !ok {
				if zone, err = c.zoneOf(*n); err != nil {
					return err
				}
				known[n.Addr] = zone
			}
			n.Near = zone == c.cfg.Zone
		}
	}
	return nil
}

// zoneOf returns the zone of a node: what ZoneOf says or, if that does not know, what the
// servers tell.
func (c *Client) zoneOf(n slots.NodeAddr) (zone string, err error) {
	if c.cfg.ZoneOf == nil {
		return n.Zone, nil
	}
	defer guard.Catch("Config.ZoneOf", &err)
	if zone = c.cfg.ZoneOf(n.Addr); zone == "" {
		zone = n.Zone
	}
	return zone, nil
}
