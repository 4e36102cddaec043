//go:build !linux

package wire

import "time"

func setUserTimeout(uintptr, time.Duration) {}

func halfClosed(uintptr) bool { return false }
