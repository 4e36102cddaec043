package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redislanes/redislanes/redistest/sim"
)

// A fault is a sim.Fault in JSON. Its durations are texts such as "1.5s".
type fault struct {
	At   duration `json:"at,omitempty"`
	For  duration `json:"for,omitempty"`
	Kind string   `json:"kind"`
	Host string   `json:"host,omitempty"`
	Node string   `json:"node,omitempty"`
	By   duration `json:"by,omitempty"`
	N    int      `json:"n,omitempty"`
	Text string   `json:"text,omitempty"`
}

func toJSON(f sim.Fault) fault {
	return fault{duration(f.At), duration(f.For), f.Kind, f.Host, f.Node, duration(f.By), f.N, f.Text}
}

func (f fault) sim() sim.Fault {
	return sim.Fault{
		At: time.Duration(f.At), For: time.Duration(f.For), Kind: f.Kind, Host: f.Host, Node: f.Node,
		By: time.Duration(f.By), N: f.N, Text: f.Text,
	}
}

type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err
}

// replay makes the faults of a list in JSON.
func replay(c *sim.Cluster, body io.Reader) error {
	var list []fault
	in := json.NewDecoder(body)
	in.DisallowUnknownFields()
	err := in.Decode(&list)
	if err == nil && in.More() {
		err = errors.New("more behind the list")
	}
	if err != nil {
		return fmt.Errorf(`%w: want a list of faults, such as [{"kind": "Delay", "node": %q, "at": "1s", "for": "2s", "by": "300ms"}]; other fields are host, n and text`,
			err, c.Addrs()[0])
	}
	var faults []sim.Fault
	for _, f := range list {
		faults = append(faults, f.sim())
	}
	return c.Replay(faults)
}
