//go:build race

package race

// Enabled is whether this program is built with -race.
const Enabled = true
