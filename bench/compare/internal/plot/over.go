package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// A sweep is the runs that differ in one setting only, which has a number.
type sweep struct {
	key  string
	rest string // the other settings that vary, as text
	at   []float64
	text []string
	runs []*report.Run
}

// overSettings draws throughput and latency over each setting that was varied
// and has a number, once for each combination of the others.
func overSettings(r *report.Report) (figures []*figure, err error) {
	for _, s := range sweeps(r) {
		f, err := s.figure()
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}

func sweeps(r *report.Report) (all []*sweep) {
	for _, run := range r.Runs {
		for i, v := range run.Varied {
			at, ok := numeric(v.Value)
			if !ok {
				continue
			}
			rest := settings.Join(slices.Delete(slices.Clone(run.Varied), i, i+1))
			j := slices.IndexFunc(all, func(s *sweep) bool { return s.key == v.Key && s.rest == rest })
			if j < 0 {
				all = append(all, &sweep{key: v.Key, rest: rest})
				j = len(all) - 1
			}
			all[j].at = append(all[j].at, at)
			all[j].text = append(all[j].text, numberText(v.Value))
			all[j].runs = append(all[j].runs, run)
		}
	}
	return slices.DeleteFunc(all, func(s *sweep) bool { return len(s.runs) < 2 })
}

// numeric returns a number for the axis: that of a duration is in milliseconds.
func numeric(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case string:
		if bytes, ok := settings.ParseBandwidth(v); ok {
			return float64(bytes), true
		}
		d, err := time.ParseDuration(v)
		return ms(d), err == nil
	}
	return 0, false
}

// numberText shortens large numbers.
func numberText(v any) string {
	switch v := v.(type) {
	case int:
		return rateText(float64(v))
	case float64:
		return rateText(v)
	default:
		return fmt.Sprint(v)
	}
}

func (s *sweep) figure() (*figure, error) {
	over := axis{label: s.key}
	for i, at := range s.at {
		over.add(at, s.text[i])
	}
	title := "Over " + s.key
	for _, part := range []string{s.rest, s.runs[0].Conditions(s.key)} {
		if part != "" {
			title += ", " + part
		}
	}
	f, err := lines(&figure{name: slug("over-" + s.key + "-" + s.rest), title: title}, over, s.series())
	if err == nil && s.key == "rate" {
		err = f.target(s.at)
	}
	return f, err
}

// target draws the rate that was due beside that which was reached.
func (f *figure) target(rates []float64) error {
	var points plotter.XYs
	for _, rate := range slices.Sorted(slices.Values(rates)) {
		points = append(points, plotter.XY{X: rate, Y: rate})
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = palette[6], vg.Points(1), []vg.Length{vg.Points(5), vg.Points(3)}
	f.panels[0].Add(line)
	f.legend.Add("rate that is due", line)
	return nil
}

// series are the rows of all runs, in the order in which they come.
func (s *sweep) series() (all []series) {
	for i, run := range s.runs {
		for _, r := range rows(run) {
			j := slices.IndexFunc(all, func(of series) bool { return of.name == r.name })
			if j < 0 {
				j = len(all)
				all = append(all, series{name: r.name})
			}
			all[j].points = append(all[j].points, point{s.at[i], r.phase})
		}
	}
	return all
}

// poolSizes draws a run over the size of its pools, where one kind has several.
func poolSizes(name string, run *report.Run) (*figure, error) {
	groups := run.BySize()
	if len(groups) == 0 {
		return nil, nil
	}
	over := axis{label: "connections to each node"}
	var all []series
	for _, g := range groups {
		s := series{name: g.Name}
		for _, e := range g.Endpoints {
			over.add(float64(e.Connections()), fmt.Sprint(e.Connections()))
			s.points = append(s.points, point{float64(e.Connections()), e.Phases[0]})
		}
		slices.SortFunc(s.points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
		all = append(all, s)
	}
	return lines(&figure{name: name + "-pool-size", title: "Over the size of the pool: " + run.Title()}, over, all)
}

// withFailures adds the share of failures to a name, if there is any worth it.
func withFailures(name string, p *report.Phase) string {
	if share := 100 * p.FailedShare(); share >= 0.1 {
		return strings.TrimSpace(fmt.Sprintf("%s, %.3g %% failed", name, share))
	}
	return name
}
