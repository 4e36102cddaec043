package chart

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages/browser"
)

// measuring is a script that writes down what the browser has made of the pictures.
const measuring = `<script>addEventListener("load", () => {
	const room = 3 // pixels of a text's box that its letters leave empty
	const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - room && b.top < a.bottom - room
	const seen = [...document.querySelectorAll("figure")].map(f => {
		const svg = f.querySelector("svg"), r = svg.getBoundingClientRect()
		const texts = [...svg.querySelectorAll("text")].map(t => ({t: t.textContent, r: t.getBoundingClientRect()})).filter(t => t.r.width > 0)
		const cut = texts.filter(t => t.r.left < r.left || t.r.right > r.right || t.r.top < r.top || t.r.bottom > r.bottom)
		const hidden = texts.flatMap((a, i) => texts.slice(i + 1).filter(b => overlap(a.r, b.r)).map(b => a.t + " and " + b.t))
		const paper = getComputedStyle(svg).getPropertyValue("--paper")
		return {Name: f.id, Texts: texts.length, Cut: cut.map(t => t.t), Hidden: hidden, Paper: paper}
	})
	document.body.dataset.seen = JSON.stringify(seen)
})</script>`

// seen is what the script writes of a picture.
type seen struct {
	Name        string
	Texts       int
	Cut, Hidden []string
	Paper       string // the background
}

// TestPicturesInABrowser looks at the pictures of bench/results on a phone and on a wide screen, in
// light and in dark: no text is cut or hides another.
func TestPicturesInABrowser(t *testing.T) {
	names, err := filepath.Glob("../results/*.svg")
	require.NoError(t, err)
	require.Greater(t, len(names), 9)
	for width, paper := range map[int]string{400: "#FFFFFF", 1300: "#0D1117"} {
		pictures := look(t, gallery(t, names, width), fmt.Sprintf("--window-size=%d,12000", width),
			fmt.Sprintf("--blink-settings=preferredColorScheme=%d", map[bool]int{true: 0, false: 1}[width > 400]))
		require.Len(t, pictures, len(names))
		for _, p := range pictures {
			require.GreaterOrEqual(t, p.Texts, 8, p.Name)
			require.Empty(t, p.Cut, p.Name)
			require.Empty(t, p.Hidden, p.Name)
			require.Equal(t, paper, p.Paper, p.Name)
		}
	}
}

// gallery is a page with the pictures in it, as wide as a page of that window shows them.
func gallery(t *testing.T, names []string, width int) []byte {
	t.Helper()
	var page bytes.Buffer
	fmt.Fprintf(&page, `<meta charset="utf-8">%s<style>svg{max-width:%dpx;height:auto}figure{margin:0}</style>`, measuring, min(width-16, 800))
	for _, name := range names {
		svg, err := os.ReadFile(name)
		require.NoError(t, err)
		fmt.Fprintf(&page, `<figure id=%q>%s</figure>`, filepath.Base(name), svg[bytes.Index(svg, []byte("<svg")):])
	}
	return page.Bytes()
}

// look opens the page in a headless browser.
func look(t *testing.T, page []byte, args ...string) (all []seen) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(name, page, 0o600))
	browser.Open(t, "file://"+name, &all, args...)
	return all
}
