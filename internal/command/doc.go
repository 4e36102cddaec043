// Package command knows what Redis' commands are: where their keys are, whether
// they only read, may block, are slow, and what they do to the connection that
// they are sent over. It is the only place that knows: every path by which a
// command travels asks here, from the encoded command ([Of]).
// The package knows no slots, asks no server and does no I/O.
package command
