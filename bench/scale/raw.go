package main

import (
	"time"

	"github.com/redislanes/redislanes/internal/machine"

	"github.com/redislanes/redislanes/bench/rawfile"
)

// A line is one of these, which have a field each.
type line struct {
	Start  *rawfile.Start `json:"start,omitempty"` // the first line
	Client *carried       `json:"client,omitempty"`
	Large  *large         `json:"cluster,omitempty"`
	Memory *footprint     `json:"memory,omitempty"`
	End    *time.Time     `json:"end,omitempty"`
}

// A record is what a raw file holds.
type record struct {
	machine machine.Machine
	clients []carried
	large   []large

	footprints []footprint
}

func (r *record) add(l line) error {
	switch {
	case l.Start != nil:
		r.machine = l.Start.Machine
	case l.Client != nil:
		r.clients = append(r.clients, *l.Client)
	case l.Large != nil:
		r.large = append(r.large, *l.Large)
	case l.Memory != nil:
		r.footprints = append(r.footprints, *l.Memory)
	}
	return nil
}

func readRaw(name string) (*record, error) {
	r := new(record)
	return r, rawfile.Read(name, r.add)
}
