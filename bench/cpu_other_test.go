//go:build !unix

package bench

import "time"

const haveCPUTime = false

func cpuTime() time.Duration { return 0 }
