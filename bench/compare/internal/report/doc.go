// Package report turns results into what a person or a program reads: a table in
// Markdown, statistics, and JSON. It measures nothing.
package report
