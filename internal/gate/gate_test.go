package gate

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestCloseWaits: for those inside, and for what they vouch for, however often it is
// called; nobody enters any more.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		require.True(t, g.Enter())
		var closed atomic.Int32
		for range 3 {
			go func() {
				g.Close()
				closed.Add(1)
			}()
		}
		synctest.Wait()
		require.False(t, g.Enter())
		g.Stay()
		g.Leave()
		synctest.Wait()
		require.Zero(t, closed.Load())
		g.Leave()
		synctest.Wait()
		require.EqualValues(t, 3, closed.Load())
		require.False(t, g.Enter())
		g.Close()
	})
}

// TestNobodyInsideAfterClose: with calls that come and go meanwhile.
func TestNobodyInsideAfterClose(t *testing.T) {
	for range 200 {
		var g Gate
		var inside atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for g.Enter() {
					inside.Add(1)
					inside.Add(-1)
					g.Leave()
				}
			})
		}
		g.Close()
		require.Zero(t, inside.Load())
		all.Wait()
	}
}

// TestOpenedByNobody: the zero value can be closed.
func TestOpenedByNobody(*testing.T) {
	var g Gate
	g.Close()
}
