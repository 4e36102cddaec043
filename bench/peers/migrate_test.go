package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// codeOfPages is the beginning of a file with the code of docs/migrate-*.md, and what the code takes as given.
const codeOfPages = `package pages

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

var (
	ctx                          context.Context
	user, password, source       string
	addrs, keys                  []string
	hits int64
	totals                       []int64
	errs                         []error
	replies                      []pipeline.Reply
)
`

// oursOnPages are parts of code that is for our client on each page.
var oursOnPages = regexp.MustCompile(`pipeline\.New|client\.Cmd\(|radix\.(NewEvalScript|WithConn|Cmd)`)

// unused are errors about code that goes on elsewhere.
var unused = regexp.MustCompile(`declared and not used|imported (as \w+ )?and not used`)

// TestMigrationPages compiles the code of the pages with the versions in go.mod.
func TestMigrationPages(t *testing.T) {
	for page, theirs := range map[string]string{"go-redis": "*redis.ClusterClient", "radix": "radix.MultiClient", "rueidis": "rueidis.Client"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/migrate-" + page + ".md")
			require.NoError(t, err)
			code := codeOfPages
			blocks := strings.Split(string(text), "```go\n")[1:]
			require.NotEmpty(t, blocks)
			for i, block := range blocks {
				block, _, _ = strings.Cut(block, "```")
				client := theirs
				if page != "radix" && oursOnPages.MatchString(block) || strings.Contains(block, "pipeline.New") {
					client = "*cluster.Client"
				}
				if !strings.HasPrefix(block, "func ") {
					block = fmt.Sprintf("func block%d(client %s) error {\n{\n%s}\nreturn nil\n}\n", i, client, block)
				}
				code += block
			}
			require.Empty(t, compiled(t, code))
			require.NotEmpty(t, compiled(t, code+"\nvar _ = cluster.Nothing\n"), "what is wrong is found")
		})
	}
}

// compiled returns the compiler's errors, but for those about what is not used.
func compiled(t *testing.T, code string) (all []string) {
	t.Helper()
	folder := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	file, overlay := filepath.Join(folder, "pages.go"), filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
	encoded, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "pages", "pages.go"): file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, encoded, 0o600))
	said, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-gcflags=-e", "./pages").CombinedOutput()
	for line := range strings.Lines(string(said)) {
		if !unused.MatchString(line) && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	if len(said) == 0 {
		require.NoError(t, err)
	}
	return all
}
