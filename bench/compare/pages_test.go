package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/evidence"
)

// measured is what both tests below read.
var measured = make(reports)

// TestPagesAreWhatWasMeasured makes the tables of the pages again from the raw files. With the
// race detector it takes a minute, unless histograms are left out of it, as in scripts/test.sh.
func TestPagesAreWhatWasMeasured(t *testing.T) {
	changed, err := pages.Rewrite("..", "compare", true, evidence.Dated(measured.table))
	require.NoError(t, err)
	require.Empty(t, changed, "differ from what was measured: run make pages")
}

// TestPicturesAreWhatWasMeasured draws the pictures of the pages again from the raw files.
func TestPicturesAreWhatWasMeasured(t *testing.T) {
	changed, err := pages.Redraw("..", "compare", true, measured.picture)
	require.NoError(t, err)
	require.Empty(t, changed, "differ from what was measured: run make pages")
}
