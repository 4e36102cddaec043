package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/machine"
)

// rawFormat is the version of the lines of a raw file.
const rawFormat = 1

// A line is one of these, which have a field each.
type line struct {
	Start  *start     `json:"start,omitempty"` // the first line
	Client *carried   `json:"client,omitempty"`
	Large  *large     `json:"cluster,omitempty"`
	Memory *footprint `json:"memory,omitempty"`
	Fleet  *fleetRun  `json:"fleet,omitempty"`
	End    *time.Time `json:"end,omitempty"` // the last line
}

type start struct {
	Format  int             `json:"format"`
	Machine machine.Machine `json:"machine"`
}

// A record is what a raw file holds.
type record struct {
	machine machine.Machine
	clients []carried
	large   []large

	footprints []footprint
	fleets     []fleetRun
}

func (r *record) add(l line) {
	switch {
	case l.Client != nil:
		r.clients = append(r.clients, *l.Client)
	case l.Large != nil:
		r.large = append(r.large, *l.Large)
	case l.Memory != nil:
		r.footprints = append(r.footprints, *l.Memory)
	case l.Fleet != nil:
		r.fleets = append(r.fleets, *l.Fleet)
	}
}

func readRaw(name string) (*record, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := decodeRaw(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func decodeRaw(from io.Reader) (*record, error) {
	r, lines := new(record), json.NewDecoder(from)
	lines.DisallowUnknownFields()
	for n := 1; ; n++ {
		var l line
		if err := lines.Decode(&l); errors.Is(err, io.EOF) {
			return nil, errors.New("has no last line: the measurement did not end")
		} else if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case (n == 1) != (l.Start != nil):
			return nil, fmt.Errorf("line %d: want one line of the start", n)
		case l.Start != nil && l.Start.Format != rawFormat:
			return nil, fmt.Errorf("has format %d: want %d", l.Start.Format, rawFormat)
		case l.Start != nil:
			r.machine = l.Start.Machine
		case l.End != nil:
			return r, nil
		}
		r.add(l)
	}
}

// source says where the figures are from.
func (r *record) source() (string, error) {
	m := r.machine
	if m.Commit == "" || strings.HasSuffix(m.Commit, "+") {
		return "", fmt.Errorf("was measured with changes that no commit has: %q", m.Commit)
	}
	return fmt.Sprintf("%s, commit %s, %s/%s, %d CPUs (%s), %s", m.Date.UTC().Format(time.DateTime), m.Commit, m.OS, m.Arch, m.CPUs, m.CPU, m.Go), nil
}
