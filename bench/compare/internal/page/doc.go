// Package page writes a report as one HTML page with its tables and plots, which
// needs no other file. It measures and computes nothing.
package page
