package live

import (
	"embed"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

//go:embed page
var embedded embed.FS

// Handler serves the page at /live/ and its data at /live/data.
func Handler(metrics prometheus.Gatherer) http.Handler { return handler(metrics, time.Now) }

func handler(metrics prometheus.Gatherer, now func() time.Time) http.Handler {
	files := http.FileServerFS(embedded)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live/", func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Path = "/page/" + strings.TrimPrefix(r.URL.Path, "/live/")
		files.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /live/data", func(w http.ResponseWriter, _ *http.Request) {
		families, err := metrics.Gather()
		if err != nil && len(families) == 0 {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(snapshotOf(families, now())) // the browser has gone
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:") // nothing comes from elsewhere
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}
