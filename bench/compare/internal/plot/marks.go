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

// marks adds one percentile of all rows to the figure's only panel.
func (f *figure) marks(all []row, name string, percent float64, of func(*report.Phase) *report.Latency, c color.Color, shape int) error {
	var points plotter.XYs
	for i, r := range all {
		if l := of(r.phase); l != nil && l.Count > 0 {
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
	s.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(4), Shape: shapes[shape]}
	f.panels[0].Add(s)
	f.legend.Add(fmt.Sprintf("%sP%v", name, percent), s)
	return nil
}
