package envoydriver

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPutSaysWhyTidyFails: put.sh shows the output of go mod tidy if that fails.
func TestPutSaysWhyTidyFails(t *testing.T) {
	service := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(service, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("go.mod", "module example.com/service\n\ngo 1.26\n")
	write("src/redis/driver.go", "package redis\n\nimport _ \"example.com/missing\"\n")
	write("src/redis/driver_impl.go", "package redis\n\nfunc NewClientImpl(\n\turl string,\n) Client {\n\treturn nil\n}\n")
	put := exec.CommandContext(t.Context(), "bash", "put.sh", service)
	put.Env = append(os.Environ(), "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	said, err := put.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "example.com/missing")
	require.Contains(t, string(said), "go mod tidy failed in "+service)
	require.FileExists(t, filepath.Join(service, "src/redis/lanes_driver.go"))
}
