package main

import (
	"context"
	"sync"
	"time"

	"github.com/redislanes/redislanes/redistest"
)

const (
	emulatedNodes = 3
	emulatedTick  = time.Second
)

// startEmulated starts a cluster in this process. Its clock runs until stop is called.
func startEmulated() (addrs []string, stop func() error, err error) {
	cluster, err := redistest.LaunchEmulated(emulatedNodes)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var passing sync.WaitGroup
	passing.Go(func() {
		for tick := time.Tick(emulatedTick); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
				cluster.FastForward(emulatedTick) // keys expire only so
			}
		}
	})
	return cluster.Addrs(), func() error {
		cancel()
		passing.Wait()
		return cluster.Close()
	}, nil
}
