package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/browser"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
)

// measuring is a script that notes where the browser has put things.
const measuring = `<script>addEventListener("load", () => {
	const boxes = [...document.querySelectorAll("figure svg")].map(svg => {
		const r = svg.getBoundingClientRect()
		const texts = [...svg.querySelectorAll("text")].map(t => t.getBoundingClientRect()).filter(t => t.width > 0)
		return {Texts: texts.length, Cut: texts.filter(t => t.left < r.left || t.right > r.right || t.top < r.top || t.bottom > r.bottom).length}
	})
	document.body.dataset.seen = JSON.stringify({Boxes: boxes, Wide: document.documentElement.scrollWidth - innerWidth,
		Rows: [...document.querySelectorAll("#steps tbody tr")].filter(r => r.getBoundingClientRect().height > 10).length})
})</script></body>`

type seen struct {
	Boxes      []struct{ Texts, Cut int }
	Wide, Rows int
}

// TestPageInABrowser opens the page on a wide screen and on a phone, in light and in dark: rows and plots have
// their room, and nothing is wider than the window.
func TestPageInABrowser(t *testing.T) {
	r := New([]flags.Flag{{Name: "target", Value: "ratelimit.shop.svc.cluster.local:8081"}})
	for i, rate := range []int{10_000, 12_500, 15_000, 17_500} {
		step := result(rate, int64(i*i)*5_000, time.Millisecond)
		step.Latency.Reset()
		for k := range int64(100) {
			_ = step.Latency.RecordValue(int64(i+1) * k * k * k * k * 10)
		}
		r.Add(rate, step)
	}
	name := filepath.Join(t.TempDir(), "page.html")
	page := strings.Replace(text(t, r.WriteHTML), "</body>", measuring, 1)
	require.NoError(t, os.WriteFile(name, []byte(page), 0o600))
	for _, view := range []browser.View{{Name: "ladder-1300", Width: 1300}, {Name: "ladder-400", Width: 400}, {Name: "ladder-400-dark", Width: 400, Dark: true}} {
		var s seen
		browser.Open(t, "file://"+name, view, &s)
		require.LessOrEqual(t, s.Wide, 0, view.Name)
		require.Equal(t, 4, s.Rows)
		require.Len(t, s.Boxes, 3)
		for _, b := range s.Boxes {
			require.GreaterOrEqual(t, b.Texts, 10)
			require.Zero(t, b.Cut, "%s: texts that do not fit", view.Name)
		}
	}
}
