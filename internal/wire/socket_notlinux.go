//go:build !linux

package wire

import "time"

func setUserTimeout(uintptr, time.Duration) {}
