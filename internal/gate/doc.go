// Package gate counts the calls that are inside of something that can be closed.
package gate
