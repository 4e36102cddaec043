package limit_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDependencies: a program that counts does not link net/http.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".", "./places").Output()
	require.NoError(t, err)
	require.False(t, slices.Contains(strings.Fields(string(out)), "net/http"))
}
