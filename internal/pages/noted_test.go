package pages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNotesAboveTheirParagraph: each comment has the figure in bold that is its turn, also on a later line.
func TestNotesAboveTheirParagraph(t *testing.T) {
	notes := "<!-- value by compare of raw/a.jsonl: ratios; callers=1; laned-1 -->\n" +
		"<!-- value by peers of raw/b.jsonl: x; y; z -->\n" +
		"<!-- most of 3 by compare of raw/a.jsonl: ratios; laned-4 -->\n"
	tables := func(Table) (string, error) { return figures, nil }
	filled, made, err := Fill([]byte("before **it**\n\n"+notes+"It makes **?** and **theirs**,\nand **?**, **not** this.\n"), "compare", tables)
	require.NoError(t, err)
	require.Equal(t, 2, made)
	require.Equal(t, "before **it**\n\n"+notes+"It makes **8,564** and **theirs**,\nand **1.10**, **not** this.\n", string(filled))

	_, _, err = Fill([]byte(notes+"It makes **?** and **theirs**.\n\nand **?**.\n"), "compare", tables)
	require.ErrorContains(t, err, "laned-4")
	require.ErrorContains(t, err, "no figure in bold")
	_, _, err = Fill([]byte(notes+"It makes **?** and **theirs**."), "compare", tables)
	require.ErrorContains(t, err, "no figure in bold")
	_, _, err = Fill([]byte("<!-- value by compare of raw/a.jsonl: ratios; callers=7; laned-1 -->\n**?**\n"), "compare", tables)
	require.ErrorContains(t, err, "has no row")
}
