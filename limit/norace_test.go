//go:build !race

package limit

const raceDetector = false
