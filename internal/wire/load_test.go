package wire

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLoad: at most as many are in flight as there are callers, and at the end
// none is.
func TestLoad(t *testing.T) {
	t.Parallel()
	var l Load
	l.add()
	l.add()
	l.remove(1)
	require.Equal(t, []int{1, 2, 1}, []int{l.Now(), l.TakePeak(), l.TakePeak()})
	l.remove(1)
	require.Equal(t, []int{0, 1, 0}, []int{l.Now(), l.TakePeak(), l.TakePeak()})
	const callers = 8
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range 1000 {
				l.add()
				if peak := l.TakePeak(); peak < 1 || peak > callers {
					t.Errorf("a peak of %d", peak)
				}
				l.remove(1)
			}
		})
	}
	wg.Wait()
	require.Zero(t, l.Now())
}
