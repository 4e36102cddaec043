// Package report turns the results of a ladder into a table, a page with plots, and
// JSON.
package report
