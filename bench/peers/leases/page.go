package main

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/redislanes/redislanes/internal/pages"
)

// tableOf makes a table of the page: source or rates.
func tableOf(t pages.Table) (string, error) {
	if len(t.Files) != 1 {
		return "", errors.New("want one raw file")
	}
	r, err := readRaw(t.Files[0])
	if err != nil {
		return "", err
	}
	m := r.start.Machine
	if m.Commit == "" || strings.HasSuffix(m.Commit, "+") {
		return "", fmt.Errorf("was measured with changes that no commit has: %q", m.Commit)
	}
	switch t.Name {
	case "source":
		return fmt.Sprintf("- %s, commit %s, %s/%s, %d CPUs (%s), %s; three primaries on the same machine; %v for each row",
			m.Date.UTC().Format(time.DateTime), m.Commit, m.OS, m.Arch, m.CPUs, m.CPU, m.Go, r.start.During), nil
	case "rates":
		return r.table(), nil
	}
	return "", errors.New("want source or rates")
}

func (r *row) perDecision() float64 { return float64(r.Commands) / float64(r.Decisions) }

// table has a row for each rate, with leases and without.
func (r *record) table() string {
	var b strings.Builder
	b.WriteString("| hits/s asked for | leases | hits/s made | by leases | commands per decision | P50 | P99 |\n|---|---|---|---|---|---|---|\n")
	for _, row := range r.rows {
		leases := "on"
		if !row.Leases {
			leases = "off"
		}
		fmt.Fprintf(&b, "| %d | %s | %.0f | %.1f %% | %.4f | %v | %v |\n", row.Rate, leases, float64(row.Decisions)/row.Took.Seconds(),
			100*float64(row.Leased)/float64(row.Decisions), row.perDecision(), short(row.P50), short(row.P99))
	}
	return b.String()
}

func short(d time.Duration) time.Duration {
	if d < 10*time.Microsecond {
		return d.Round(100 * time.Nanosecond)
	}
	return d.Round(time.Microsecond)
}

// Two colours that colour-blind readers can tell apart.
// Source: M. Okabe and K. Ito, "Color Universal Design", 2008.
var colors = map[bool]color.Color{true: color.RGBA{0, 114, 178, 255}, false: color.RGBA{213, 94, 0, 255}}

// plot draws commands per decision, and below them P99, by the rate; all axes are logarithmic.
func (r *record) plot() ([]byte, error) {
	const width, height = 7 * vg.Inch, 3 * vg.Inch
	out := vgsvg.New(width, 2*height)
	all := draw.New(out)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	for i, figure := range []struct {
		name string
		of   func(*row) float64
	}{
		{"commands per decision", (*row).perDecision},
		{"P99 (µs)", func(r *row) float64 { return float64(r.P99) / 1000 }},
	} {
		p := plot.New()
		p.X.Label.Text, p.Y.Label.Text = "hits a second on the key", figure.name
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		p.X.Tick.Marker, p.Y.Tick.Marker = powers{}, powers{}
		p.Add(plotter.NewGrid())
		for _, leases := range []bool{true, false} {
			var points plotter.XYs
			for _, row := range r.rows {
				if y := figure.of(&row); row.Leases == leases && y > 0 {
					points = append(points, plotter.XY{X: float64(row.Rate), Y: y})
				}
			}
			line, dots, err := plotter.NewLinePoints(points)
			if err != nil {
				return nil, err
			}
			line.Color, line.Width = colors[leases], vg.Points(1.8)
			dots.Color, dots.Shape = colors[leases], draw.CircleGlyph{}
			p.Add(line, dots)
			p.Legend.Add(map[bool]string{true: "with leases", false: "without"}[leases], line, dots)
		}
		p.Legend.Left = true
		bottom := height * vg.Length(1-i)
		p.Draw(draw.Crop(all, vg.Points(6), -vg.Points(12), bottom+vg.Points(6), bottom-height-vg.Points(8)))
	}
	var b bytes.Buffer
	if _, err := out.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// powers labels powers of ten.
type powers struct{}

// Ticks is part of plot.Ticker.
func (powers) Ticks(low, high float64) (ticks []plot.Tick) {
	for _, t := range (plot.LogTicks{Prec: -1}).Ticks(low, high) {
		if t.Label != "" {
			t.Label = strconv.FormatFloat(t.Value, 'g', 6, 64)
		}
		ticks = append(ticks, t)
	}
	return ticks
}
