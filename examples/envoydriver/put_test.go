package envoydriver

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A checkout is a folder with what put.sh looks at in the service.
type checkout string

func newCheckout(t *testing.T) checkout {
	c := checkout(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":                   "module example.com/service\n\ngo 1.26\n",
		"src/redis/driver.go":      "package redis\n\nimport _ \"example.com/missing\"\n",
		"src/redis/driver_impl.go": "package redis\n\nfunc NewClientImpl(\n\tctx context.Context,\n\tstartupInitialInterval time.Duration,\n) Client {\n\treturn nil\n}\n",
	} {
		path := filepath.Join(string(c), name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return c
}

// put runs put.sh, which fails in the end: the service imports what cannot be downloaded.
func (c checkout) put(t *testing.T, env ...string) (said string) {
	put := exec.CommandContext(t.Context(), "bash", "put.sh", string(c))
	put.Env = append(os.Environ(), append(env, "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=-mod=mod", "GOWORK=off")...)
	out, err := put.CombinedOutput()
	require.Error(t, err)
	return string(out)
}

// TestPutSaysWhyTidyFails: put.sh shows the output of go mod tidy if that fails.
func TestPutSaysWhyTidyFails(t *testing.T) {
	c := newCheckout(t)
	said := c.put(t)
	require.Contains(t, said, "module lookup disabled by GOPROXY=off")
	require.Contains(t, said, "go mod tidy failed in "+string(c))
	require.FileExists(t, filepath.Join(string(c), "src/redis/lanes_driver.go"))
}

// TestPutChangesTheConstructor: with a sed like that of macOS, too, which knows neither -i without a
// suffix nor \t in a replacement, and if put.sh runs again.
func TestPutChangesTheConstructor(t *testing.T) {
	const want = "package redis\n\nfunc NewClientImpl(\n\tctx context.Context,\n\tstartupInitialInterval time.Duration,\n) Client {\n" +
		"\tif useDriver {\n" +
		"\t\treturn WithoutContext{newDriver(ctx, scope, srv, healthCheckActiveConnection, useTls, tlsConfig, poolOnEmptyBehavior, " +
		"Options{Type: redisType, SocketType: redisSocketType, URL: url, Auth: auth, SentinelAuth: sentinelAuth, PoolSize: poolSize, Timeout: timeout, " +
		"Startup: &Startup{InitialInterval: startupInitialInterval, MaxInterval: startupMaxInterval, MaxElapsedTime: startupMaxElapsedTime}})}\n" +
		"\t}\n\n" +
		"\treturn nil\n}\n"
	sed, err := exec.LookPath("sed")
	require.NoError(t, err)
	bin := t.TempDir()
	other := "#!/bin/sh\ncase \"$*\" in -i* | *'\\t'*) echo 'sed of another system' >&2; exit 1 ;; esac\nexec " + sed + " \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "sed"), []byte(other), 0o755))
	c := newCheckout(t)
	for range 2 {
		said := c.put(t, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		text, err := os.ReadFile(filepath.Join(string(c), "src/redis/driver_impl.go"))
		require.NoError(t, err)
		require.Equal(t, want, string(text), said)
	}
}
