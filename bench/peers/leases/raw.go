package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redislanes/redislanes/internal/machine"
)

// rawFormat is the version of the lines of a raw file.
const rawFormat = 1

// A line is one of these kinds.
type line struct {
	Start *start     `json:"start,omitempty"` // the first line
	Row   *row       `json:"row,omitempty"`
	End   *time.Time `json:"end,omitempty"` // the last line
}

type start struct {
	Format  int             `json:"format"`
	Machine machine.Machine `json:"machine"`
	During  time.Duration   `json:"during"`
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
	ended bool
}

func (r *record) add(l line) {
	switch {
	case l.Start != nil:
		r.start = l.Start
	case l.Row != nil:
		r.rows = append(r.rows, *l.Row)
	case l.End != nil:
		r.ended = true
	}
}

func readRaw(name string) (*record, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, lines := new(record), json.NewDecoder(file)
	lines.DisallowUnknownFields()
	for {
		var l line
		err := lines.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if l.Row != nil && (l.Row.Decisions < 1 || l.Row.Took <= 0) {
			return nil, fmt.Errorf("%s: a row without a decision or time", name)
		}
		r.add(l)
	}
	if r.start == nil || r.start.Format != rawFormat || !r.ended {
		return nil, fmt.Errorf("%s: want a first line with format %d, and a last line: measure again", name, rawFormat)
	}
	return r, nil
}

// A rawWriter writes lines. A nil one does nothing.
type rawWriter struct{ file *os.File }

func createRaw(name string) (*rawWriter, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("-raw: %w", err)
	}
	return &rawWriter{file}, nil
}

func (w *rawWriter) write(l line) error {
	if w == nil {
		return nil
	}
	return json.NewEncoder(w.file).Encode(l)
}

func (w *rawWriter) end() error {
	if w == nil {
		return nil
	}
	now := time.Now().UTC().Truncate(time.Second)
	return errors.Join(w.write(line{End: &now}), w.file.Close())
}
