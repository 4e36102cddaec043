// Package cause has the causes in a redislanes.Error that programs print and do not act on.
// The packages of the library, and its tests, tell them apart with errors.Is and errors.As.
package cause
