package main

import (
	"errors"
	"time"

	"github.com/redislanes/redislanes/bench/rawfile"
)

// A line is one of these kinds.
type line struct {
	Start *start     `json:"start,omitempty"` // the first line
	Row   *row       `json:"row,omitempty"`
	End   *time.Time `json:"end,omitempty"` // the last line
}

type start struct {
	rawfile.Start
	During time.Duration `json:"during"`
}

// A row is what was measured at a rate.
type row struct {
	Rate      int           `json:"rate"`
	Leases    bool          `json:"leases"`
	Took      time.Duration `json:"took"`
	Decisions int64         `json:"decisions"`
	Leased    int64         `json:"leased"`
	Commands  int64         `json:"commands"`
	P50       time.Duration `json:"p50"`
	P99       time.Duration `json:"p99"`
}

// A record is what a raw file has.
type record struct {
	start *start
	rows  []row
}

func (r *record) add(l line) error {
	switch {
	case l.Start != nil:
		r.start = l.Start
	case l.Row != nil && (l.Row.Decisions < 1 || l.Row.Took <= 0):
		return errors.New("a row without a decision or time")
	case l.Row != nil:
		r.rows = append(r.rows, *l.Row)
	}
	return nil
}

func readRaw(name string) (*record, error) {
	r := new(record)
	return r, rawfile.Read(name, r.add)
}
