// Package pages finds and replaces the tables of Markdown pages that are made from
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
// The names of files are relative to the folder of all pages, so that bench/RESULTS.md
// and bench/results/peers.md name the same file in the same way. They may be patterns
// of [path/filepath.Match], for the files of a measurement that has several.
package pages
