package plot

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

// shapes of the percentiles: the further out, the more corners.
var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}}

// marks are points for one kind of requests.
type marks struct {
	name  string
	color color.Color
	of    func(*report.Phase) *report.Latency
}

// add draws one percentile of all rows in the figure's only panel.
func (m marks) add(f *figure, all []row, percent float64, shape int) error {
	var points plotter.XYs
	for i, r := range all {
		if l := m.of(r.phase); l != nil && float64(l.Count)*(100-percent)/100 >= 1 {
			points = append(points, plotter.XY{X: max(ms(l.At(percent)), 0.001), Y: float64(i)})
		}
	}
	if len(points) == 0 {
		return nil
	}
	s, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	s.GlyphStyle = draw.GlyphStyle{Color: m.color, Radius: vg.Points(4), Shape: shapes[shape]}
	f.panels[0].Add(s)
	f.legend.Add(fmt.Sprintf("%sP%v", m.name, percent), s)
	return nil
}
