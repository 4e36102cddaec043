package report

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// requireBrowserEnv makes the want of a browser a failure.
const requireBrowserEnv = "REDISLANES_REQUIRE_CHROMIUM"

// browser returns the path of a Chromium, or skips the test.
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

// browse runs a headless browser on a page. One run both dumps it and takes a picture, if it
// is told both: to start a browser costs more than either.
func browse(t *testing.T, page string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args = append([]string{
		"--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-sandbox", // the page is ours, and root has no sandbox
		"--user-data-dir=" + t.TempDir(), "--window-size=1300,2400",
	}, args...)
	cmd := exec.CommandContext(ctx, browser(t), append(args, "file://"+page)...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, errors.String())
	return out
}

// measuring is a script that notes where the browser has put things, for a page
// that is then dumped.
const measuring = `<script>addEventListener("load", () => {
	const b = document.body
	for (const svg of document.querySelectorAll("figure svg")) {
		const r = svg.getBoundingClientRect(), p = document.createElement("div")
		p.className = "box"
		for (const [k, v] of Object.entries({x: r.left, y: r.top, width: r.width, height: r.height}))
			p.setAttribute("data-" + k, Math.round(v))
		const texts = [...svg.querySelectorAll("text")].map(t => t.getBoundingClientRect()).filter(t => t.width > 0)
		p.setAttribute("data-texts", texts.length)
		p.setAttribute("data-cut", texts.filter(t => t.left < r.left || t.right > r.right || t.top < r.top || t.bottom > r.bottom).length)
		b.append(p)
	}
	b.setAttribute("data-wide", document.documentElement.scrollWidth - innerWidth)
	b.setAttribute("data-rows", [...document.querySelectorAll("#steps tbody tr")].filter(r => r.getBoundingClientRect().height > 10).length)
})</script></body>`

// skewed is a report whose latencies are so far apart that no curve hides another.
func skewed() *Report {
	r := New(nil)
	for i, rate := range []int{10_000, 12_500, 15_000, 17_500} {
		step := result(rate, int64(i*i)*5_000, time.Millisecond)
		step.Latency.Reset()
		for k := range int64(100) {
			_ = step.Latency.RecordValue(int64(i+1) * k * k * k * k * 10)
		}
		r.Add(rate, step)
	}
	return r
}

// TestPageInABrowser looks at the page in a real browser: rows and plots have
// their room, nothing is wider than the window, and the curves can be seen.
func TestPageInABrowser(t *testing.T) {
	browser(t)
	var b bytes.Buffer
	require.NoError(t, skewed().WriteHTML(&b))
	text := bytes.Replace(b.Bytes(), []byte("</body>"), []byte(measuring), 1)
	require.NotEqual(t, len(b.Bytes()), len(text))
	folder := t.TempDir()
	name := filepath.Join(folder, "page.html")
	require.NoError(t, os.WriteFile(name, text, 0o600))

	shot := filepath.Join(folder, "page.png")
	page, err := html.Parse(bytes.NewReader(browse(t, name, "--dump-dom", "--screenshot="+shot)))
	require.NoError(t, err)
	body := elements(page, "body")[0]
	require.Equal(t, 4, attribute(t, body, "data-rows"))
	require.LessOrEqual(t, attribute(t, body, "data-wide"), 0)
	var boxes []image.Rectangle
	for _, n := range elements(page, "div") {
		if n.Attr[0].Val != "box" {
			continue
		}
		x, y := attribute(t, n, "data-x"), attribute(t, n, "data-y")
		box := image.Rect(x, y, x+attribute(t, n, "data-width"), y+attribute(t, n, "data-height"))
		require.Greater(t, box.Dx(), 500)
		require.Greater(t, box.Dy(), 200)
		require.GreaterOrEqual(t, attribute(t, n, "data-texts"), 8)
		require.Zero(t, attribute(t, n, "data-cut"), "texts that do not fit")
		boxes = append(boxes, box)
	}
	require.Len(t, boxes, 3)

	seen := colors(t, shot)
	for i, curves := range [][]int{{0, 2, 3}, {0, 1, 3, 5}, {3}} {
		require.True(t, boxes[i].In(seen.Bounds()), "%v", boxes[i])
		for _, c := range curves {
			require.Greater(t, count(seen, boxes[i], c), 100, "colour %d of plot %d", c, i+1)
		}
	}
}

func attribute(t *testing.T, n *html.Node, name string) int {
	t.Helper()
	for _, a := range n.Attr {
		if a.Key == name {
			v, err := strconv.Atoi(a.Val)
			require.NoError(t, err)
			return v
		}
	}
	require.Fail(t, "no attribute", name)
	return 0
}

func colors(t *testing.T, name string) image.Image {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	picture, err := png.Decode(f)
	require.NoError(t, err)
	return picture
}

// count returns how many pixels of a box have a colour of the palette, or one so near
// to it as the edges of lines are.
func count(picture image.Image, box image.Rectangle, color int) (n int) {
	r, g, b, _ := palette[color].RGBA()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			if pr, pg, pb, _ := picture.At(x, y).RGBA(); near(pr, r) && near(pg, g) && near(pb, b) {
				n++
			}
		}
	}
	return n
}

func near(a, b uint32) bool { return max(a, b)-min(a, b) < 30<<8 }

// shotsEnv names a folder for screenshots to look at. Without it none are taken for it.
const shotsEnv = "REDISLANES_SCREENSHOTS"

// TestPageOnAPhone: nothing is wider than the window, on a phone and in the dark.
func TestPageOnAPhone(t *testing.T) {
	browser(t)
	folder := os.Getenv(shotsEnv)
	if folder != "" {
		require.NoError(t, os.MkdirAll(folder, 0o755))
	}
	r := skewed()
	r.Settings = []Setting{{"target", "ratelimit.shop.svc.cluster.local:8081"}, {"for", "30s"}}
	late := result(20_000, 40_000, 500*time.Millisecond)
	require.NoError(t, late.Late.RecordValues(int64(400*time.Millisecond), 100_000))
	r.Add(20_000, late)
	var b bytes.Buffer
	require.NoError(t, r.WriteHTML(&b))
	name := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(name, bytes.Replace(b.Bytes(), []byte("</body>"), []byte(measuring), 1), 0o600))
	for shot, args := range map[string][]string{
		"ladder-400.png":      {"--window-size=400,3000"},
		"ladder-1300.png":     {"--window-size=1300,2000"},
		"ladder-400-dark.png": {"--window-size=400,3000", "--blink-settings=preferredColorScheme=0"},
	} {
		args = append(args, "--dump-dom")
		if folder != "" {
			args = append(args, "--screenshot="+filepath.Join(folder, shot))
		}
		page, err := html.Parse(bytes.NewReader(browse(t, name, args...)))
		require.NoError(t, err)
		require.LessOrEqual(t, attribute(t, elements(page, "body")[0], "data-wide"), 0, shot)
	}
}
