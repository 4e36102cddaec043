package nodepool

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// TestSlowWaitedHoldsNobodyUp: the batch that waited is written before Trace.Waited is
// told of its wait, whoever frees the connection.
func TestSlowWaitedHoldsNobodyUp(t *testing.T) {
	for name, free := range map[string]func(*Dedicated){
		"by a return": func(conn *Dedicated) { conn.Return() },
		"by a dial":   func(conn *Dedicated) { _ = conn.Close(); conn.Return() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Fixed{Size: 1, Options: hearing(func(redislanes.WaitInfo) { time.Sleep(time.Second) })}, time.Millisecond)
				conn, err := w.Dedicate(t.Context())
				require.NoError(t, err)
				time.Sleep(2 * time.Second) // it was told of the first dial
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				var wg sync.WaitGroup
				wg.Go(func() { assert.NoError(t, w.Do(ctx, radix.Cmd(nil, "INCR", "k"))) })
				synctest.Wait()
				go free(conn)
				wg.Wait()
				time.Sleep(10 * time.Second)
			})
		})
	}
}
