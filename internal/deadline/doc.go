// Package deadline has contexts with a deadline that are used again and again, for
// calls that have a budget of their own and must not allocate.
package deadline
