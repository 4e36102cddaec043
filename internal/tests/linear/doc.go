// Package linear holds one test: what callers of a real cluster were told while
// slots moved and connections were killed has to be linearizable.
package linear
