package live

import (
	"embed"
	"net/http"
	"strings"
)

//go:embed page
var embedded embed.FS

// Handler serves the page at /live/. The page reads the metrics at /metrics.
func Handler() http.Handler {
	files := http.FileServerFS(embedded)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:") // nothing comes from elsewhere
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r = r.Clone(r.Context())
		r.URL.Path = "/page/" + strings.TrimPrefix(r.URL.Path, "/live/")
		files.ServeHTTP(w, r)
	})
}
