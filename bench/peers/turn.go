package main

import "time"

// A turn is what one client did in one round: a line of a raw file. Its percentiles
// are those of the round.
type turn struct {
	TLS       bool          `json:"tls,omitempty"`
	Callers   int           `json:"callers"`
	Scenario  string        `json:"scenario"`
	Keys      int           `json:"keys"` // of a request
	Client    string        `json:"client"`
	Round     int           `json:"round"`
	Requests  int64         `json:"requests"`
	Took      time.Duration `json:"took"` // nanoseconds, as all durations
	CPU       time.Duration `json:"cpu"`  // of this process, which is the clients'
	Mallocs   uint64        `json:"mallocs"`
	Allocated uint64        `json:"allocated"` // bytes
	Reads     int64         `json:"reads"`     // system calls of this process
	Writes    int64         `json:"writes"`
	Executed  int64         `json:"executed"`          // INCRBY, by the servers' own count
	Servers   time.Duration `json:"servers,omitempty"` // processor time of all servers, by their own account; 0: not asked
	Others    time.Duration `json:"others,omitempty"`  // processor time of processes that are not of the measurement
	P50       time.Duration `json:"p50"`
	P99       time.Duration `json:"p99"`
	P999      time.Duration `json:"p999"`
}

func (t turn) cell() cell { return cell{t.TLS, t.Callers, t.Scenario, t.Client} }

func (t turn) perRequest(n float64) float64 { return n / float64(t.Requests) }

// A figure is something measured in a turn.
type figure struct {
	name string
	of   func(t turn) float64
}

var (
	rate = figure{"req/s", func(t turn) float64 { return float64(t.Requests) / t.Took.Seconds() }}
	cpu  = figure{"cpu/req", func(t turn) float64 { return t.perRequest(float64(t.CPU)) }}
	p50  = figure{"p50", func(t turn) float64 { return float64(t.P50) }}
	p99  = figure{"p99", func(t turn) float64 { return float64(t.P99) }}
	p999 = figure{"p99.9", func(t turn) float64 { return float64(t.P999) }}

	allocs  = figure{"allocs/req", func(t turn) float64 { return t.perRequest(float64(t.Mallocs)) }}
	reads   = figure{"reads/req", func(t turn) float64 { return t.perRequest(float64(t.Reads)) }}
	writes  = figure{"writes/req", func(t turn) float64 { return t.perRequest(float64(t.Writes)) }}
	serving = figure{"servers/req", func(t turn) float64 { return t.perRequest(float64(t.Servers)) }}
	incrby  = figure{"INCRBY/key", func(t turn) float64 { return t.perRequest(float64(t.Executed)) / float64(t.Keys) }}
)
