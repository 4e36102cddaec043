package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFlags: what cannot be is refused before anything starts.
func TestFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`"100": is no flag`: {"100"},
		"-callers 0: want positive numbers with commas between": {"-callers", "0"},
		"-rounds 0: must be positive":                           {"-rounds", "0"},
		"-clients: the expression matches none":                 {"-clients", "nobody"},
		"-cuts: cannot be used with -large, -limits or -tls":    {"-cuts", "-tls"},
		"-primaries 0 -replicas 1: want at least one primary":   {"-primaries", "0"},
	} {
		require.EqualError(t, new(settings).parse(args), want)
	}
}
