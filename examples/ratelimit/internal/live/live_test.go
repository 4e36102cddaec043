package live

import (
	"cmp"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/pages/browser"
)

const shotsEnv = "REDISLANES_SCREENSHOTS" // a folder that keeps pictures

func TestMain(m *testing.M) { leak.Main(m) }

// metrics returns those of a service that makes 1,000 decisions a second, 100 of them without Redis, after so many
// seconds. In the fifth second a node goes down, and in the eighth slots move.
func metrics(n int) string {
	since := func(second int) int { return min(1, max(0, n-second+1)) }
	wave := int(400 * math.Sin(float64(n)/2))
	text := fmt.Sprintf(`# TYPE redislanes_limit_decisions_total counter
redislanes_limit_decisions_total{limit="a",outcome="allowed",shadow="false"} %d
redislanes_limit_decisions_total{limit="b",outcome="allowed",shadow="false"} %d
redislanes_limit_decisions_total{limit="a",outcome="denied",shadow="false"} %[2]d
redislanes_limit_decisions_total{limit="a",outcome="failed_open",shadow="false"} %[2]d
redislanes_limit_hits_total{limit="a",hits="counted"} %d
redislanes_limit_hits_total{limit="a",hits="leased"} %d
redislanes_limit_hits_total{limit="a",hits="returned"} %d
redislanes_limit_duration_seconds_bucket{allowed="true",le="0.001"} %d
redislanes_limit_duration_seconds_bucket{allowed="true",le="0.01"} %d
redislanes_limit_duration_seconds_bucket{allowed="true",le="+Inf"} %[7]d
redislanes_error_replies_total{node="10.0.0.1:6379",code="OOM"} %d
redislanes_error_replies_total{node="10.0.0.1:6379",code="BUSY"} 0
redislanes_dials_total{node="10.0.0.1:6379",result="error"} %d
redislanes_dials_total{node="10.0.0.1:6379",result="success"} %[9]d
ratelimit_requests_total{method="grpc",code="Unavailable"} %d
ratelimit_requests_total{method="json",code="503"} %[10]d
ratelimit_requests_total{method="json",code="429"} %[10]d
redislanes_redirects_total{kind="moved"} %d
redislanes_redirects_total{kind="ask"} %[10]d
some_other_total{x="a \"quoted\" word"} 1
`, 700*n+wave, 100*n, 800*n, 300*n-wave, 20*n, 99*n, 100*n, 3*n, n, 2*n, 3*since(8))
	for i := range 3 {
		for name, value := range map[string]float64{"open_connections": 4, "max_connections": 4, "in_flight_batches": float64(2 + 3*i),
			"waiters": 0, "saturation_ratio": 0.25, "down": float64(since(5) * (i / 2))} {
			text += fmt.Sprintf("redislanes_pool_%s{node=\"10.0.0.%d:6379\",role=\"primary\"} %v\n", name, i+1, value)
		}
	}
	return text
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

var elsewhere = regexp.MustCompile(`(?:src|href|url|fetch|import)\s*[=(]\s*["']?(?:https?:)?//`)

// TestNothingComesFromElsewhere: the page is whole without a network.
func TestNothingComesFromElsewhere(t *testing.T) {
	h := Handler()
	for _, name := range []string{"", "live.js", "live.css", "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css", "uplot/LICENSE"} {
		w := get(t, h, "/live/"+name)
		require.Equal(t, http.StatusOK, w.Code, name)
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'self'")
		require.NotRegexp(t, elsewhere, w.Body.String(), name)
	}
	require.Contains(t, get(t, h, "/live/uplot/LICENSE").Body.String(), "MIT License")
	require.Equal(t, http.StatusNotFound, get(t, h, "/live/nothing").Code)
	require.True(t, elsewhere.MatchString(`<script src="//cdn.example/x.js">`))
}

// measuring is a script that the test adds to the page: it notes what is too wide.
const measuring = `setInterval(() => {
	const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1)
	document.body.dataset.seen = JSON.stringify({Wide: wide.length, Charts: document.querySelectorAll(".uplot canvas").length,
		Marks: marks.map(m => m.text), Alarm: document.getElementById("without").className,
		Names: [...document.querySelectorAll(".u-legend .u-label")].map(e => e.textContent)})
}, 500)`

type seen struct {
	Wide, Charts int
	Names, Marks []string
	Alarm        string
}

func serve(t *testing.T) string {
	t.Helper()
	h := Handler()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/live/measuring.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(measuring))
		case "/metrics":
			_, _ = io.WriteString(w, metrics(int(asked.Add(1))))
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

// The schemes of colours, as Chromium numbers them.
const dark, light = 0, 1

var tile = regexp.MustCompile(`<dd id="(\w+)"[^>]*>([^<]*)</dd>`)

// TestPageInABrowser opens the page on a phone and on a wide screen, in light and in dark:
// charts draw what the metrics gain, marks say what has happened, and nothing is wider than the window.
func TestPageInABrowser(t *testing.T) {
	folder := cmp.Or(os.Getenv(shotsEnv), t.TempDir())
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for name, v := range map[string]struct {
		width, height, scheme int
		paper                 color.Color
	}{
		"live-400":       {400, 2300, light, color.White},
		"live":           {1300, 1090, light, color.White}, // the picture in README.md
		"live-1300-dark": {1300, 2300, dark, color.RGBA{0x0D, 0x11, 0x17, 255}},
	} {
		t.Run(name, func(t *testing.T) {
			var s seen
			shot := filepath.Join(folder, name+".png")
			dom := browser.Open(t, serve(t), &s, fmt.Sprintf("--window-size=%d,%d", v.width, v.height), "--screenshot="+shot,
				fmt.Sprintf("--blink-settings=preferredColorScheme=%d", v.scheme),
				"--virtual-time-budget=12000", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
			file, err := os.Open(shot)
			require.NoError(t, err)
			defer file.Close()
			picture, err := png.Decode(file)
			require.NoError(t, err)
			require.Zero(t, s.Wide, "elements are wider than the window")
			require.Equal(t, 5, s.Charts)
			for _, line := range []string{"allowed", "denied", "failed_open", "P50", "P99", "10.0.0.2:6379 primary", "leased", "returned", "reply OOM", "failed dials", "answer 503", "answer Unavailable"} {
				require.Contains(t, s.Names, line)
			}
			require.NotContains(t, s.Names, "reply BUSY", "it never happened")
			require.NotContains(t, s.Names, "answer 429", "it is a decision")
			require.Equal(t, []string{"10.0.0.3:6379 down", "slots moved"}, s.Marks)
			tiles := make(map[string]string)
			for _, found := range tile.FindAllStringSubmatch(dom, -1) {
				tiles[found[1]] = found[2]
			}
			require.Regexp(t, `^([67]\.\d+|8)$`, tiles["failing"])
			require.Regexp(t, `^\d\.?\d* ms$`, tiles["p99"])
			require.Regexp(t, `^(\d{3}|1[012]\d\d)$`, tiles["rate"])
			require.Regexp(t, `^(8|9|1[0-3])(\.\d+)? %$`, tiles["without"])
			require.Equal(t, "bad", s.Alarm)
			require.Equal(t, 2, strings.Count(dom, "<td>up</td>"))
			require.NotContains(t, dom, "no data")
			require.Equal(t, v.width, picture.Bounds().Dx())
			require.Equal(t, color.RGBAModel.Convert(v.paper), color.RGBAModel.Convert(picture.At(1, 1)))
		})
	}
}
