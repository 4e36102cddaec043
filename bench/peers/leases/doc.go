// Command leases measures what one key of package limit costs, by the rate at which it is hit, with
// leases and without: commands per decision, and how long decisions take. It starts a cluster of
// three primaries itself.
//
// Usage, from the root of the repository:
//
//	make leases
//	make pages
//
// The second command writes the table and the plot of docs/leases.md from the raw file. With -lives the
// program prints another table of that page: hits lost with processes that end without Close.
package main
