package servers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBinary: what the setting may name, and what is wrong with others.
func TestBinary(t *testing.T) {
	dir := t.TempDir()
	server := filepath.Join(dir, "bin", "servers", "valkey-0.1", "valkey-server")
	require.NoError(t, os.MkdirAll(filepath.Dir(server), 0o700))
	require.NoError(t, os.WriteFile(server, []byte("#!/bin/sh\necho 'Valkey server v=0.1.2 sha=0'\n"), 0o700))
	below := filepath.Join(dir, "some", "package")
	require.NoError(t, os.MkdirAll(below, 0o700))
	t.Chdir(below)
	for _, name := range []string{"valkey-0.1", server} {
		t.Setenv(ServerEnv, name)
		got, err := Binary()
		require.NoError(t, err)
		want, err := filepath.EvalSymlinks(server)
		require.NoError(t, err)
		got, err = filepath.EvalSymlinks(got)
		require.NoError(t, err)
		require.Equal(t, want, got)
		r, err := releaseOf(got)
		require.NoError(t, err)
		require.Equal(t, release{valkey: true, minor: 1}, r)
	}
	for name, want := range map[string]string{
		"valkey-0.2":            `"valkey-0.2": no such server in bin/servers: run scripts/ensure-servers.sh`,
		"bin/servers/redis-7":   "must be the name of a folder of bin/servers, or an absolute path",
		"..":                    "must be the name of a folder",
		filepath.Join(dir, "x"): "no such file",
	} {
		t.Setenv(ServerEnv, name)
		_, err := Binary()
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, ServerEnv)
		require.NotErrorIs(t, err, errNoServer)
		require.False(t, HaveServer())
	}
	t.Setenv(ServerEnv, "")
	t.Setenv("PATH", dir)
	_, err := Binary()
	require.ErrorIs(t, err, errNoServer)
	_, err = LaunchServer(t.Context(), Options{})
	require.ErrorIs(t, err, errNoServer)
}
