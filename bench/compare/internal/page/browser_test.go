package page

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireBrowserEnv makes the want of a browser a failure.
const requireBrowserEnv = "REDISLANES_REQUIRE_CHROMIUM"

func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "needs chromium or google-chrome in the PATH (scripts/ensure-deps.sh chromium installs it)"
	if os.Getenv(requireBrowserEnv) != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// browse runs a headless browser on a page.
func browse(t *testing.T, page string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args = append([]string{
		"--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-sandbox", // the page is ours, and root has no sandbox
		"--user-data-dir=" + t.TempDir(),
	}, args...)
	cmd := exec.CommandContext(ctx, browser(t), append(args, "file://"+page)...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, errors.String())
	return out
}

// measuring is a script that writes down where the browser has put things, all
// parts of the page unfolded, behind a mark in a page that is then dumped.
const measuring = `<script>addEventListener("load", () => {
	for (const d of document.querySelectorAll("details")) d.open = true
	const room = 3 // of a text's box, above and below its letters
	const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - room && b.top < a.bottom - room
	const seen = {
		Wide: document.documentElement.scrollWidth - innerWidth,
		Rows: [...document.querySelectorAll("tbody tr")].filter(r => r.getBoundingClientRect().height > 10).length,
		Figures: [...document.querySelectorAll("figure")].map(f => {
			const svg = f.querySelector("svg"), r = svg.getBoundingClientRect()
			const texts = [...svg.querySelectorAll("text")].map(t => ({t: t.textContent, r: t.getBoundingClientRect()})).filter(t => t.r.width > 0)
			const cut = texts.filter(t => t.r.left < r.left || t.r.right > r.right || t.r.top < r.top || t.r.bottom > r.bottom)
			const hidden = texts.flatMap((a, i) => texts.slice(i + 1).filter(b => overlap(a.r, b.r)).map(b => a.t + " and " + b.t))
			return {Title: f.getAttribute("aria-label"), Texts: texts.length, Cut: cut.map(t => t.t), Hidden: hidden}
		}),
	}
	const out = document.createElement("pre")
	out.textContent = "MEASURED" + btoa(unescape(encodeURIComponent(JSON.stringify(seen)))) + "END"
	document.body.append(out)
})</script></body>`

// seen is what the script writes.
type seen struct {
	Wide, Rows int
	Figures    []struct {
		Title       string
		Texts       int
		Cut, Hidden []string
	}
}

// TestPageInABrowser looks at the page in a real browser, on a wide screen and on a phone, in light
// and in dark: rows and plots have their room, no text is cut or hides another, and nothing but
// tables, which scroll, is wider than the window.
func TestPageInABrowser(t *testing.T) {
	browser(t)
	var b bytes.Buffer
	require.NoError(t, Write(measured(t), &b))
	text := bytes.Replace(b.Bytes(), []byte("</body>"), []byte(measuring), 1)
	require.NotEqual(t, b.Len(), len(text))
	name := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	for shot, args := range map[string][]string{
		"compare-400.png":       {"--window-size=400,9000"},
		"compare-1300-dark.png": {"--window-size=1300,5000", "--blink-settings=preferredColorScheme=0"},
	} {
		if os.Getenv(shotsEnv) != "" { // else nobody looks at the picture
			args = append(args, "--screenshot="+filepath.Join(shots(t), shot))
		}
		s := look(t, name, args...)
		require.LessOrEqual(t, s.Wide, 0, shot)
		require.Equal(t, 6+3+2+1+6, s.Rows, "figures, limits, sizes, errors, what they used")
		require.Len(t, s.Figures, 1+2*2)
		for _, f := range s.Figures {
			require.GreaterOrEqual(t, f.Texts, 6, f.Title)
			require.Empty(t, f.Cut, "%s: %s", shot, f.Title)
			require.Empty(t, f.Hidden, "%s: %s", shot, f.Title)
		}
		require.Equal(t, "Over rate, 50 callers, round trip +1ms", s.Figures[0].Title)
	}
}

// look returns what the browser has laid out. With --screenshot among its arguments the same
// run takes a picture, too: to start a browser costs more than either.
func look(t *testing.T, name string, args ...string) (s seen) {
	t.Helper()
	_, after, ok := bytes.Cut(browse(t, name, append(args, "--dump-dom")...), []byte("<pre>MEASURED"))
	require.True(t, ok, "the script did not run")
	encoded, _, ok := bytes.Cut(after, []byte("END"))
	require.True(t, ok)
	var text []byte
	require.NoError(t, json.Unmarshal([]byte(`"`+string(encoded)+`"`), &text))
	require.NoError(t, json.Unmarshal(text, &s))
	return s
}

func open(t *testing.T, name string) image.Image {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	picture, err := png.Decode(f)
	require.NoError(t, err)
	return picture
}

// shows reports whether so many pixels of a box have a colour, or one so near to it
// as the edges of lines are.
func shows(picture image.Image, box image.Rectangle, of color.Color, least int) bool {
	n := 0
	r, g, b, _ := of.RGBA()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			if pr, pg, pb, _ := picture.At(x, y).RGBA(); near(pr, r) && near(pg, g) && near(pb, b) {
				if n++; n == least {
					return true
				}
			}
		}
	}
	return false
}

func near(a, b uint32) bool { return max(a, b)-min(a, b) < 30<<8 }
