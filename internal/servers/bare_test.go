package servers

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBareWaitsAreOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits [BareWaits]int
		stop := StartBareWaits(func(i int, deadline, back time.Time) {
			assert.Equal(t, deadline, back)
			waits[i]++
		})
		time.Sleep(105 * time.Millisecond)
		stop()
		stop()
		for _, n := range waits {
			require.Equal(t, 11, n)
		}
	})
}
