//go:build !unix

package usage

import "time"

// CPU is not known here: CPU per request is 0.
func CPU() time.Duration { return 0 }
