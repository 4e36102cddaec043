package rivals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/bench/compare/internal/stats"
)

// A turn is what a client did in one round; raw files have more fields.
type turn struct {
	Callers  int     `json:"callers"`
	Scenario string  `json:"scenario"`
	Client   string  `json:"client"`
	Requests float64 `json:"requests"`
	Took     float64 `json:"took"` // nanoseconds
}

type cell struct {
	scenario string
	callers  int
	client   string
}

// Figures are the rates of all rounds.
type Figures struct{ rates map[cell][]float64 }

// Read reads files that bench/peers wrote with -raw.
func Read(names []string) (*Figures, error) {
	f := &Figures{make(map[cell][]float64)}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = f.read(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return f, nil
}

func (f *Figures) read(from io.Reader) error {
	for lines := json.NewDecoder(from); ; {
		var l struct {
			Turn *turn  `json:"turn"`
			End  string `json:"end"`
		}
		if err := lines.Decode(&l); err != nil {
			return fmt.Errorf("has no last line, so the run did not end: %w", err)
		}
		switch {
		case l.End != "":
			return nil
		case l.Turn != nil && l.Turn.Took > 0:
			at := cell{l.Turn.Scenario, l.Turn.Callers, l.Turn.Client}
			f.rates[at] = append(f.rates[at], 1e9*l.Turn.Requests/l.Turn.Took)
		}
	}
}

// Best returns the requests per second of a library in a scenario, by callers: for each
// number of them those of its mode with the highest median of the rounds. The modes of a
// library have its name, alone or with "-" behind it.
func (f *Figures) Best(scenario string, modes ...string) (callers []int, rates []float64) {
	best := make(map[int]float64)
	for at, rounds := range f.rates {
		if at.scenario == scenario && isMode(at.client, modes) {
			best[at.callers] = max(best[at.callers], stats.Median(rounds))
		}
	}
	for n := range best {
		callers = append(callers, n)
	}
	slices.Sort(callers)
	for _, n := range callers {
		rates = append(rates, best[n])
	}
	return callers, rates
}

// isMode reports whether the client is one of the modes; "rueidis-" stands for all modes
// whose names begin so.
func isMode(client string, modes []string) bool {
	return slices.ContainsFunc(modes, func(mode string) bool {
		return client == mode || strings.HasSuffix(mode, "-") && strings.HasPrefix(client, mode)
	})
}
