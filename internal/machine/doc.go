// Package machine describes where figures came about: the system, its processors,
// and the commit of the code that was measured.
package machine
