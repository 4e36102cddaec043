package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages"
)

// TestPagesAreWhatWasMeasured makes the tables of the pages again from the raw files.
func TestPagesAreWhatWasMeasured(t *testing.T) {
	changed, err := pages.Rewrite("..", "peers", true, tableOf)
	require.NoError(t, err)
	require.Empty(t, changed, "differ from what was measured: run make pages")
}
