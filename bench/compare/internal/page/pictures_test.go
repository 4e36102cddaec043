package page

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shotsEnv names a folder that keeps screenshots. Without it they go with the test.
const shotsEnv = "REDISLANES_SCREENSHOTS"

func shots(t *testing.T) string {
	t.Helper()
	folder := os.Getenv(shotsEnv)
	if folder == "" {
		return t.TempDir()
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	return folder
}

// TestPicturesOfThePages looks at the pictures of bench/results on a phone and on a wide
// screen, in light and in dark: no text is cut or hides another, and curves can be seen.
func TestPicturesOfThePages(t *testing.T) {
	browser(t)
	names, err := filepath.Glob("../../../results/*.svg")
	require.NoError(t, err)
	require.Greater(t, len(names), 9)
	type view struct {
		width int
		dark  bool
		back  color.Color
		blue  color.Color
	}
	night, ink := color.RGBA{0x0D, 0x11, 0x17, 255}, color.RGBA{0x3B, 0x82, 0xF6, 255}
	views := []view{{400, false, color.White, color.RGBA{0, 0x72, 0xB2, 255}}, {1300, true, night, ink}}
	if os.Getenv(shotsEnv) != "" {
		views = append(views, view{1300, false, color.White, color.RGBA{0, 0x72, 0xB2, 255}}, view{400, true, night, ink})
	}
	for _, view := range views {
		t.Run(fmt.Sprintf("%d dark=%v", view.width, view.dark), func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "pictures.html")
			require.NoError(t, os.WriteFile(name, gallery(t, names, view.width), 0o600))
			args := []string{fmt.Sprintf("--window-size=%d,12000", view.width)}
			if view.dark {
				args = append(args, "--blink-settings=preferredColorScheme=0")
			}
			shot := filepath.Join(shots(t), fmt.Sprintf("results-%d-dark-%v.png", view.width, view.dark))
			seen := look(t, name, append(args, "--screenshot="+shot)...)
			require.Len(t, seen.Figures, len(names))
			picture := open(t, shot)
			require.True(t, shows(picture, picture.Bounds(), view.back, 10_000), "the background")
			require.True(t, shows(picture, picture.Bounds(), view.blue, 300), "the first curves")
			for _, f := range seen.Figures {
				require.GreaterOrEqual(t, f.Texts, 8, f.Title)
				require.Empty(t, f.Cut, f.Title)
				require.Empty(t, f.Hidden, f.Title)
			}
		})
	}
}

// gallery is a page with the pictures in it, as wide as a page of that window shows them.
func gallery(t *testing.T, names []string, width int) []byte {
	t.Helper()
	var page bytes.Buffer
	fmt.Fprintf(&page, `<meta charset="utf-8"><body style="margin:8px;background:#0D1117"><style>svg{max-width:%dpx;height:auto}figure{margin:0 0 8px;width:%[1]dpx}</style>`,
		min(width-16, 800))
	for _, name := range names {
		svg, err := os.ReadFile(name)
		require.NoError(t, err)
		text := string(svg[bytes.Index(svg, []byte("<svg")):])
		fmt.Fprintf(&page, `<figure aria-label=%q>%s</figure>`, filepath.Base(name), text)
	}
	return []byte(strings.TrimSuffix(page.String()+measuring, "</body>") + "</body>")
}
