package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

func TestRun(t *testing.T) {
	for _, url := range []string{"", strings.Join(redistest.StartEmulated(t, 3).Addrs(), ",")} {
		out := new(strings.Builder)
		require.NoError(t, run(t.Context(), url, out))
		require.Contains(t, out.String(), "3 groups, answered in")
		require.Equal(t, 10, strings.Count(out.String(), ": 3 <nil>"))
		require.Equal(t, 3, strings.Count(out.String(), "laned pool"))
	}
	require.ErrorContains(t, run(t.Context(), "a:0", io.Discard), "port of address 1")
}
