// Package pages finds and replaces the tables and figures of Markdown pages that are made from
// raw data, so that a command can write them and a test can compare them with the data.
//
// Such a table is between two comments. The first one names the program that makes
// the table, the raw files, and the table's name in that program:
//
//	<!-- made by peers of raw/peers-tcp.jsonl raw/peers-tls.jsonl: goals -->
//
//	| ... |
//
//	<!-- end -->
//
// A value is a figure in a sentence or in a cell of a table that people write. It is
// between two comments in one line, and names a table in the same way, then cells that its
// row has, then its column:
//
//	<!-- value by compare of raw/lanes.jsonl: ratios P99; callers=8; laned-4 -->0.98<!-- -->
//
// It is the cell without the spread of its rounds. "A or B" are alternatives, of rows and of
// columns: a bar would split the cell of a Markdown table. "least of 32" and "most of 32" in
// place of "value" are the extremes of all cells that are selected, which must be so many, with
// some of each file. "ratio" is that of two cells: TABLE; ROW; COLUMN ÷ ROW; COLUMN.
//
// In a page that people read as text, such as README.md, the comments stand on lines above the paragraph, without
// <!-- -->. The first one's figure is the first text in bold of the paragraph, and so on.
//
// A picture is an SVG file that the page shows in the line below its comment:
//
//	<!-- drawn by compare of raw/lanes.jsonl: over-callers -->
//	![throughput over callers](lanes.svg)
//
// The names of files are relative to the folder of all pages, so that bench/RESULTS.md
// and bench/results/peers.md name the same file in the same way. They may be patterns
// of [path/filepath.Match], for the files of a measurement that has several. A file may be
// compressed, with .gz behind its name.
package pages
