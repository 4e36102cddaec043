package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	requireBrowserEnv = "REDISLANES_REQUIRE_CHROMIUM" // makes the want of a browser a failure
	shotsEnv          = "REDISLANES_SCREENSHOTS"      // a folder that keeps screenshots
)

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

// browse opens the page for twelve seconds, which the browser lets pass quickly.
func browse(t *testing.T, url string, width int, dark bool, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args = append([]string{
		"--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-sandbox", // the page is ours, and root has no sandbox
		"--user-data-dir=" + t.TempDir(), fmt.Sprintf("--window-size=%d,2300", width), "--virtual-time-budget=12000",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
	}, args...)
	if dark {
		args = append(args, "--blink-settings=preferredColorScheme=0")
	}
	cmd := exec.CommandContext(ctx, browser(t), append(args, url)...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, errors.String())
	return out
}

// measuring is a script that the test adds to the page: it notes what is too wide.
const measuring = `setInterval(() => {
	const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1)
	document.body.dataset.seen = JSON.stringify({Wide: wide.length, Charts: document.querySelectorAll(".uplot canvas").length,
		Names: [...document.querySelectorAll(".u-legend .u-label")].map(e => e.textContent)})
}, 500)`

type seen struct {
	Wide, Charts int
	Names        []string
}

func serve(t *testing.T) string {
	t.Helper()
	s := newService()
	h := handler(s.registry, s.now)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/live/measuring.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(measuring))
		case "/live/":
			page := get(t, h, "/live/")
			w.Header().Set("Content-Security-Policy", page.Header().Get("Content-Security-Policy"))
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(strings.Replace(page.Body.String(), "</head>", `<script defer src="measuring.js"></script></head>`, 1)))
		default:
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/live/"
}

var (
	dataset = regexp.MustCompile(`data-seen="([^"]*)"`)
	tile    = regexp.MustCompile(`<dd id="(\w+)">([^<]*)</dd>`)
)

// TestPageInABrowser opens the page on a phone and on a wide screen, in light and in dark:
// charts draw what the metrics gain, and nothing is wider than the window.
func TestPageInABrowser(t *testing.T) {
	browser(t)
	folder := os.Getenv(shotsEnv)
	if folder == "" {
		folder = t.TempDir()
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	type view struct {
		width int
		dark  bool
		paper color.Color
	}
	night := color.RGBA{0x0D, 0x11, 0x17, 255}
	views := []view{{400, false, color.White}, {1300, true, night}}
	if os.Getenv(shotsEnv) != "" {
		views = append(views, view{1300, false, color.White}, view{400, true, night})
	}
	for _, view := range views {
		name := fmt.Sprintf("live-%d-dark-%v", view.width, view.dark)
		t.Run(name, func(t *testing.T) {
			url := serve(t)
			dom := string(browse(t, url, view.width, view.dark, "--dump-dom"))
			var s seen
			m := dataset.FindStringSubmatch(dom)
			require.NotNil(t, m, dom)
			require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(m[1], "&quot;", `"`)), &s))
			require.Zero(t, s.Wide, "elements are wider than the window")
			require.Equal(t, 5, s.Charts)
			for _, line := range []string{"allowed", "denied", "P50", "P99", "10.0.0.2:6379 primary", "leased", "returned", "reply OOM", "failed dials"} {
				require.Contains(t, s.Names, line)
			}
			tiles := make(map[string]string)
			for _, found := range tile.FindAllStringSubmatch(dom, -1) {
				tiles[found[1]] = found[2]
			}
			require.Equal(t, "4", tiles["failing"])
			require.Regexp(t, `^\d\.?\d* ms$`, tiles["p99"])
			require.Regexp(t, `^(\d{3}|1[01]\d\d)$`, tiles["rate"])
			require.Equal(t, 3, strings.Count(dom, "<td>up</td>"))
			require.NotContains(t, dom, "no data")

			shot := filepath.Join(folder, name+".png")
			browse(t, url, view.width, view.dark, "--screenshot="+shot)
			file, err := os.Open(shot)
			require.NoError(t, err)
			defer file.Close()
			picture, err := png.Decode(file)
			require.NoError(t, err)
			require.Equal(t, view.width, picture.Bounds().Dx())
			require.Equal(t, color.RGBAModel.Convert(view.paper), color.RGBAModel.Convert(picture.At(1, 1)))
		})
	}
}
