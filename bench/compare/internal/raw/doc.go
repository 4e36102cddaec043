// Package raw writes what is measured, turn by turn, as lines of JSON, and makes
// the same report of them again. It measures and computes nothing.
package raw
