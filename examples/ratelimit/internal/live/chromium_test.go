package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	requireEnv = "REDISLANES_REQUIRE_CHROMIUM" // makes the want of a browser a failure
	shotsEnv   = "REDISLANES_SCREENSHOTS"      // a folder that keeps pictures
)

// A view is how a page is looked at.
type view struct {
	Name   string // of the picture
	Width  int
	Height int // default 2300
	Dark   bool
	For    time.Duration // that pass for the page before it is looked at, quickly
}

// open returns a picture of a page. The page has noted what it has seen as JSON in the attribute data-seen
// of its body, which is read into seen. Without a browser the test is skipped.
func open(t *testing.T, url string, v view, seen any) (dom string, picture image.Image) {
	t.Helper()
	folder := os.Getenv(shotsEnv)
	if folder == "" {
		folder = t.TempDir()
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	shot := filepath.Join(folder, v.Name+".png")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium(t),
		"--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-sandbox", // the page is ours, and root has no sandbox
		"--user-data-dir="+t.TempDir(), fmt.Sprintf("--window-size=%d,%d", v.Width, cmp.Or(v.Height, 2300)),
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--dump-dom", "--screenshot="+shot)
	if v.For > 0 {
		cmd.Args = append(cmd.Args, fmt.Sprintf("--virtual-time-budget=%d", v.For.Milliseconds()))
	}
	if v.Dark {
		cmd.Args = append(cmd.Args, "--blink-settings=preferredColorScheme=0")
	}
	cmd.Args = append(cmd.Args, url)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, errors.String())
	noted := regexp.MustCompile(`data-seen="([^"]*)"`).FindSubmatch(out)
	require.NotNil(t, noted, "the page has noted nothing: %s", out)
	require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(string(noted[1]))), seen))
	file, err := os.Open(shot)
	require.NoError(t, err)
	defer file.Close()
	picture, err = png.Decode(file)
	require.NoError(t, err)
	return string(out), picture
}

func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "needs chromium or google-chrome in the PATH (scripts/ensure-deps.sh chromium installs it)"
	if os.Getenv(requireEnv) != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}
