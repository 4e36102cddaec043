package pages

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const figures = `
| run       | callers | laned-1 |             laned-4 | fixed-50 |
|-----------|--------:|--------:|--------------------:|---------:|
| callers=1 |       1 |  8564   | 0.93 (0.84 to 1.50) |          |
| callers=8 |       8 |  19989  | **1.10** (1 to 1.2) |    1.3ms |
| callers=9 |       8 |  19000  | 1.02 (1.00 to 1.02) |    650µs |
`

func fill(t *testing.T, comment string) (string, error) {
	t.Helper()
	filled, made, err := Fill([]byte("has "+comment+"old<!-- -->.\n"), "compare", func(of Table) (string, error) {
		require.Equal(t, Table{"compare", []string{"raw/a.jsonl"}, "ratios req/s, P99"}, of)
		return figures, nil
	})
	if err != nil {
		return "", err
	}
	require.Equal(t, 1, made)
	figure, ok := strings.CutSuffix(strings.TrimPrefix(string(filled), "has "+comment), "<!-- -->.\n")
	require.True(t, ok, "%s", filled)
	return figure, nil
}

func TestValuesAreCellsOfTables(t *testing.T) {
	for wanted, figure := range map[string]string{
		"value by compare of raw/a.jsonl: ratios req/s, P99; callers=1; laned-1":                              "8,564",
		"value by compare of raw/a.jsonl: ratios req/s, P99; callers=8; laned-1":                              "19,989",
		"value by compare of raw/a.jsonl: ratios req/s, P99; callers=8; laned-4":                              "1.10",
		"value by compare of raw/a.jsonl: ratios req/s, P99; 8; callers=9; laned-4":                           "1.02",
		"value by compare of raw/a.jsonl: ratios req/s, P99; callers=8; fixed-50":                             "1.3 ms",
		"least of 2 by compare of raw/a.jsonl: ratios req/s, P99; callers=1 or callers=8; laned-4":            "0.93",
		"least of 3 by compare of raw/a.jsonl: ratios req/s, P99; laned-1":                                    "8,564",
		"most of 4 by compare of raw/a.jsonl: ratios req/s, P99; 8; laned-4 or laned-1":                       "19,989",
		"most of 2 by compare of raw/a.jsonl: ratios req/s, P99; 8; fixed-50":                                 "1.3 ms",
		"ratio by compare of raw/a.jsonl: ratios req/s, P99; callers=8; laned-1 ÷ callers=1; laned-1":         "2.3",
		"ratio by compare of raw/a.jsonl: ratios req/s, P99; callers=9; fixed-50 ÷ callers=8; fixed-50":       "0.50",
		"ratio by compare of raw/a.jsonl: ratios req/s, P99; callers=8; laned-1 ÷ callers=9; 8; laned-4 or x": "",
	} {
		got, err := fill(t, "<!-- "+wanted+" -->")
		if figure == "" {
			require.Error(t, err, wanted)
			continue
		}
		require.NoError(t, err, wanted)
		require.Equal(t, figure, got, wanted)
	}
}

func TestValuesSayWhatIsWrong(t *testing.T) {
	for wanted, message := range map[string]string{
		"value by compare of raw/a.jsonl: ratios req/s, P99":                                               "want TABLE; ROW; COLUMN",
		"value by compare of raw/a.jsonl: ratios req/s, P99; callers=8":                                    `no column "callers=8"`,
		"value by compare of raw/a.jsonl: ratios req/s, P99; callers=7; laned-1":                           `no row with [["callers=7"]]`,
		"value by compare of raw/a.jsonl: ratios req/s, P99; callers=8; laned-9":                           `no column "laned-9"`,
		"value by compare of raw/a.jsonl: ratios req/s, P99; 8; laned-1":                                   "want one cell",
		"ratio by compare of raw/a.jsonl: ratios req/s, P99; callers=8; laned-1":                           "÷ ROW",
		"ratio by compare of raw/a.jsonl: ratios req/s, P99; callers=8; run ÷ callers=8; laned-1":          "is no ratio",
		"least of 3 by compare of raw/a.jsonl: ratios req/s, P99; laned-1 or laned-4":                      "takes 6 cells, not 3",
		"least of 1 by compare of raw/a.jsonl: ratios req/s, P99; callers=8; run":                          "is no amount",
		"value by compare of raw/a.jsonl: ratios req/s, P99; callers=8; laned-1 ÷ callers=1; laned-1 ÷ 3;": "of it alone",
	} {
		_, err := fill(t, "<!-- "+wanted+" -->")
		require.ErrorContains(t, err, message, wanted)
	}
	_, _, err := Fill([]byte("<!-- value by compare of raw/a.jsonl: ratios; callers=8; laned-1 -->3\n"), "compare", nil)
	require.ErrorContains(t, err, "1 of 1 values")
}

// TestAChangedDigitIsFound changes each digit of a page's figures, in a table, between
// tables and behind them.
func TestAChangedDigitIsFound(t *testing.T) {
	const of = " by compare of raw/a.jsonl: x; callers=8; laned-1 -->19,989<!-- -->"
	page := []byte("a <!-- value" + of + "\n\n<!-- made by compare of raw/a.jsonl: x -->\n" + figures + "\n<!-- end -->\nand <!-- most of 1" + of + ".\n")
	tables := func(Table) (string, error) { return figures, nil }
	filled, made, err := Fill(page, "compare", tables)
	require.NoError(t, err)
	require.Equal(t, 3, made)
	require.Equal(t, string(page), string(filled))

	changed := 0
	for _, at := range digitsOf(page) {
		wrong := bytes.Clone(page)
		wrong[at] = '0' + ('9'-wrong[at]+5)%10
		if wrong[at] == page[at] {
			wrong[at] = '0' + (wrong[at]-'0'+1)%10
		}
		filled, _, err := Fill(wrong, "compare", tables)
		require.NoError(t, err)
		require.Equal(t, string(page), string(filled))
		changed++
	}
	require.Greater(t, changed, 30)
}

// digitsOf returns where the page's published digits are: not in comments.
func digitsOf(page []byte) (all []int) {
	comment := false
	for i := range page {
		switch {
		case bytes.HasPrefix(page[i:], []byte("<!--")):
			comment = true
		case bytes.HasPrefix(page[i:], []byte("-->")):
			comment = false
		case !comment && page[i] >= '0' && page[i] <= '9':
			all = append(all, i)
		}
	}
	return all
}

// TestEachFileHasASelectedCell: a sentence about two files is about both.
func TestEachFileHasASelectedCell(t *testing.T) {
	tables := func(of Table) (string, error) {
		if len(of.Files) == 1 && of.Files[0] == "raw/b.jsonl" {
			return "| run | laned-1 |\n|---|---|\n| callers=1 over TLS | 1 |\n", nil
		}
		return figures + "| callers=1 over TLS | 1 | 1 | | |\n", nil
	}
	fill := func(rows string) error {
		_, _, err := Fill([]byte("It is <!-- least of 2 by compare of raw/a.jsonl raw/b.jsonl: x; "+rows+"; laned-1 -->?<!-- -->\n"), "compare", tables)
		return err
	}
	require.NoError(t, fill("callers=1 or callers=1 over TLS"))
	require.ErrorContains(t, fill("callers=1 or callers=8"), "takes nothing of raw/b.jsonl")
}
