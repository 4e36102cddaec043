package main

import (
	"sync"
	"time"

	"github.com/redislanes/redislanes/redistest"
)

const (
	emulatedNodes = 3
	emulatedTick  = time.Second
)

// An emulated is a cluster in this process, whose time passes.
type emulated struct {
	*redistest.Emulated
	stop    chan struct{}
	passing sync.WaitGroup
}

func startEmulated() (*emulated, error) {
	nodes, err := redistest.LaunchEmulated(emulatedNodes)
	if err != nil {
		return nil, err
	}
	e := &emulated{Emulated: nodes, stop: make(chan struct{})}
	e.passing.Go(func() {
		tick := time.NewTicker(emulatedTick)
		defer tick.Stop()
		for {
			select {
			case <-e.stop:
				return
			case <-tick.C:
				e.FastForward(emulatedTick) // keys expire only so
			}
		}
	})
	return e, nil
}

func (e *emulated) close() error {
	close(e.stop)
	e.passing.Wait()
	return e.Close()
}
