package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/evidence"
)

// TestPagesAreWhatWasMeasured makes the tables of the pages again from the raw files. Several
// values are often cells of one table, which is made once.
func TestPagesAreWhatWasMeasured(t *testing.T) {
	made := make(map[string]string)
	changed, err := pages.Rewrite("..", "peers", true, evidence.Dated(func(t pages.Table) (string, error) {
		key := fmt.Sprint(t.Files, t.Name)
		if made[key] == "" {
			text, err := tableOf(t)
			if err != nil {
				return "", err
			}
			made[key] = text
		}
		return made[key], nil
	}))
	require.NoError(t, err)
	drawn, err := pages.Redraw("..", "peers", true, picture)
	require.NoError(t, err)
	require.Empty(t, append(changed, drawn...), "differ from what was measured: run make pages")
}
