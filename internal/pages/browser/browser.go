// Package browser opens pages in a headless Chromium. It is for tests.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// requireEnv makes the want of a browser a failure.
const requireEnv = "REDISLANES_REQUIRE_CHROMIUM"

var noted = regexp.MustCompile(`data-seen="([^"]*)"`)

// Open opens the page at a URL, and returns its elements as they are then. The page must have noted what it
// has seen as JSON in the attribute data-seen of its body, which is read into seen. The further arguments are
// Chromium's. Without a browser the test is skipped.
func Open(tb testing.TB, url string, seen any, args ...string) (dom string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 3*time.Minute)
	defer cancel()
	args = append(args, "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-sandbox", // the page is ours, and root has no sandbox
		"--user-data-dir="+tb.TempDir(), "--dump-dom", url)
	cmd := exec.CommandContext(ctx, program(tb), args...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%v: %s", err, &errors)
	}
	attribute := noted.FindSubmatch(out)
	if attribute == nil {
		tb.Fatalf("the page has noted nothing: %s", out)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(attribute[1]))), seen); err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

func program(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "needs chromium or google-chrome in the PATH (scripts/ensure-deps.sh chromium installs it)"
	if os.Getenv(requireEnv) != "" {
		tb.Fatal(missing)
	}
	tb.Skip(missing)
	return ""
}
