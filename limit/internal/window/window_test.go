package window

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAtBefore1970: windows go on in both directions.
func TestAtBefore1970(t *testing.T) {
	t.Parallel()
	for range 1000 {
		now := time.Unix(rand.Int64N(1e8)-5e7, rand.Int64N(1e9))
		length := 1 + rand.N(400*24*time.Hour)
		w := At(now, length)
		require.Equal(t, length, w.Length)
		require.True(t, w.Elapsed >= 0 && w.Left() > 0)
		require.Equal(t, now.UnixNano(), w.Number*int64(length)+int64(w.Elapsed))
	}
}

// FuzzShare: a share is rounded down, and UntilShareIs is the first moment at which it is low enough.
func FuzzShare(f *testing.F) {
	f.Add(int64(100), int64(50), int64(time.Hour), int64(time.Minute))
	f.Add(int64(1)<<62, int64(1)<<40, int64(time.Second), int64(1))
	f.Add(int64(3), int64(0), int64(4), int64(3))
	f.Fuzz(func(t *testing.T, n, most, length, elapsed int64) {
		if n < 0 || most < 0 || length <= 0 || elapsed < 0 || elapsed >= length {
			t.Skip()
		}
		w := Window{Length: time.Duration(length), Elapsed: time.Duration(elapsed)}
		share := new(big.Int).Mul(big.NewInt(n), big.NewInt(length-elapsed))
		require.Equal(t, share.Quo(share, big.NewInt(length)).Int64(), w.Share(n))
		first := w.UntilShareIs(n, most)
		require.True(t, first >= 0 && first <= w.Length)
		w.Elapsed = first
		require.LessOrEqual(t, w.Share(n), most)
		if w.Elapsed--; first > 0 {
			require.Greater(t, w.Share(n), most)
		}
	})
}
