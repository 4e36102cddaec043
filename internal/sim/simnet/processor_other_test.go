//go:build !unix

package simnet

import (
	"testing"
	"time"
)

func processorTime(testing.TB) time.Duration { return 0 }
