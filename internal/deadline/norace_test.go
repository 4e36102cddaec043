//go:build !race

package deadline

const raceDetector = false
