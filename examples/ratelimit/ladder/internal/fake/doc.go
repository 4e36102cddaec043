// Package fake is a rate-limit service of a known capacity, for tests.
package fake
