// Package verdict judges the steps of a ladder: how good each was, the highest rate
// that holds, and the rate at which the service breaks. It measures nothing.
package verdict
