package lease

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit/internal/bucket"
)

// TestLine: tokens are handed out in their order, and are gone once their stretch has begun.
func TestLine(t *testing.T) {
	l := NewLine(1e6)
	require.Zero(t, l.Add(Stretch{At: 10 * time.Millisecond, From: bucket.Start{At: 5000}, N: 4, Ends: time.Second}))
	require.Zero(t, l.Add(Stretch{At: 20 * time.Millisecond, From: bucket.Start{At: 15_000}, N: 2, Ends: 2 * time.Second}))
	require.Zero(t, l.Expire(10*time.Millisecond))
	require.EqualValues(t, 1, l.Expire(10*time.Millisecond+1))
	require.Equal(t, Stretch{At: 11 * time.Millisecond, From: bucket.Start{At: 6000}, N: 1, Ends: time.Second}, l.Take(1))
	taken := l.Take(3)
	require.Equal(t, Stretch{At: 12 * time.Millisecond, From: bucket.Start{At: 7000}, N: 3, Ends: time.Second}, taken, "two, and one of the next stretch")
	l.Give(taken)
	require.Zero(t, l.Add(Stretch{At: 30 * time.Millisecond, From: bucket.Start{At: 25_000}, N: 2, Ends: 2 * time.Second}))
	require.Equal(t, []Stretch{{At: 30 * time.Millisecond, From: bucket.Start{At: 25_000}, N: 2, Ends: 2 * time.Second}, {At: 14 * time.Millisecond, From: bucket.Start{At: 9000}, N: 2, Ends: time.Second}}, l.Drop(4))
	require.Equal(t, []Stretch{{At: 12 * time.Millisecond, From: bucket.Start{At: 7000}, N: 2, Ends: time.Second}}, l.stretches)
	l.Give(taken)
	require.EqualValues(t, 5, l.Expire(time.Second))
	require.Empty(t, l.stretches)
	l.Add(Stretch{At: time.Hour, N: 7, Ends: 2 * time.Second})
	require.Zero(t, l.Expire(2*time.Second))
	require.EqualValues(t, 7, l.Expire(2*time.Second+1))
}

// TestTakenTokensAreNotLate: tokens of two stretches, the later one first, are returned from where the
// earlier one begins.
func TestTakenTokensAreNotLate(t *testing.T) {
	l := NewLine(1e6)
	l.Add(Stretch{At: 100 * time.Millisecond, From: bucket.Start{At: 95_000}, N: 1, Ends: time.Second})
	l.Add(Stretch{At: 50 * time.Millisecond, From: bucket.Start{At: 45_000}, N: 20, Ends: 2 * time.Second})
	require.Equal(t, Stretch{At: 50 * time.Millisecond, From: bucket.Start{At: 45_000}, N: 10, Ends: time.Second}, l.Take(10))
	require.Equal(t, []Stretch{{At: 59 * time.Millisecond, From: bucket.Start{At: 54_000}, N: 11, Ends: 2 * time.Second}}, l.stretches)
}

// TestLineIsNeverLate: whatever is added, taken, given back and expires, no token that is left
// lies further ahead than the tokens that were added, and none is lost uncounted.
func TestLineIsNeverLate(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		per := time.Duration(1 + r.IntN(2_000_000))
		l, at, end, left := NewLine(float64(per)), time.Duration(0), time.Duration(0), int64(0)
		var out []Stretch
		for range 300 {
			at += time.Duration(r.IntN(10)) * time.Millisecond
			left -= l.Expire(at)
			switch r.IntN(4) {
			case 0:
				s := Stretch{At: max(end, at) + time.Duration(r.IntN(20))*time.Millisecond, N: 1 + r.Int64N(30), Ends: at + time.Duration(1+r.IntN(100))*time.Millisecond}
				end = s.At + time.Duration(s.N)*per
				left += s.N - l.Add(s)
			case 1:
				if n := min(left, 1+r.Int64N(5)); n > 0 {
					out = append(out, l.Take(n))
					left -= n
				}
			case 2:
				if len(out) > 0 {
					s := out[len(out)-1]
					out = out[:len(out)-1]
					l.Give(s)
					left += s.N
				}
			case 3:
				for _, s := range l.Drop(r.Int64N(1 + left/4)) {
					left -= s.N
				}
			}
			sum := int64(0)
			for _, s := range l.stretches {
				require.Positive(t, s.N)
				require.LessOrEqual(t, s.At+time.Duration(s.N)*per, end+time.Microsecond)
				sum += s.N
			}
			require.Equal(t, left, sum)
			require.LessOrEqual(t, len(l.stretches), mostStretches)
		}
	}
}
