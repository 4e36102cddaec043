package lease

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit/internal/bucket"
)

func take(l *line, n int64) (taken Stretch) {
	l.take(n, &taken)
	return taken
}

// TestLine: tokens are handed out in their order, and are gone once their stretch has begun.
func TestLine(t *testing.T) {
	var l line
	l.add(Stretch{Per: 1e6, At: 10 * time.Millisecond, From: bucket.Start{At: 5000}, N: 4, Ends: time.Second})
	l.add(Stretch{Per: 1e6, At: 20 * time.Millisecond, From: bucket.Start{At: 15_000}, N: 2, Ends: 2 * time.Second})
	require.Zero(t, l.expire(10*time.Millisecond))
	require.EqualValues(t, 1, l.expire(10*time.Millisecond+1))
	require.Equal(t, Stretch{Per: 1e6, At: 11 * time.Millisecond, From: bucket.Start{At: 6000}, N: 1, Ends: time.Second}, take(&l, 1))
	taken := take(&l, 3)
	require.Equal(t, Stretch{Per: 1e6, At: 12 * time.Millisecond, From: bucket.Start{At: 7000}, N: 3, Ends: time.Second}, taken, "two, and one of the next stretch")
	l.give(taken)
	l.add(Stretch{Per: 1e6, At: 30 * time.Millisecond, From: bucket.Start{At: 25_000}, N: 2, Ends: 2 * time.Second})
	require.Equal(t, []Stretch{{Per: 1e6, At: 30 * time.Millisecond, From: bucket.Start{At: 25_000}, N: 2, Ends: 2 * time.Second}, {Per: 1e6, At: 14 * time.Millisecond, From: bucket.Start{At: 9000}, N: 2, Ends: time.Second}}, l.drop(4))
	require.Equal(t, line{{Per: 1e6, At: 12 * time.Millisecond, From: bucket.Start{At: 7000}, N: 2, Ends: time.Second}}, l)
	l.give(taken)
	require.EqualValues(t, 5, l.expire(time.Second))
	require.Empty(t, l)
	l.add(Stretch{Per: 1e6, At: time.Hour, N: 7, Ends: 2 * time.Second})
	require.Zero(t, l.expire(2*time.Second))
	require.EqualValues(t, 7, l.expire(2*time.Second+1))
}

// TestTakenTokensAreNotLate: tokens of two stretches, the later one first, are returned from where the
// earlier one begins.
func TestTakenTokensAreNotLate(t *testing.T) {
	var l line
	l.add(Stretch{Per: 1e6, At: 100 * time.Millisecond, From: bucket.Start{At: 95_000}, N: 1, Ends: time.Second})
	l.add(Stretch{Per: 1e6, At: 50 * time.Millisecond, From: bucket.Start{At: 45_000}, N: 20, Ends: 2 * time.Second})
	require.Equal(t, Stretch{Per: 1e6, At: 50 * time.Millisecond, From: bucket.Start{At: 45_000}, N: 10, Ends: time.Second}, take(&l, 10))
	require.Equal(t, line{{Per: 1e6, At: 59 * time.Millisecond, From: bucket.Start{At: 54_000}, N: 11, Ends: 2 * time.Second}}, l)
}

// TestLineIsNeverLate: whatever is added, taken, given back and expires, no token that is left
// lies further ahead than the tokens that were added, and none is lost uncounted.
func TestLineIsNeverLate(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		per := time.Duration(1 + r.IntN(2_000_000))
		l, at, end, left := line{}, time.Duration(0), time.Duration(0), int64(0)
		var out []Stretch
		for range 300 {
			at += time.Duration(r.IntN(10)) * time.Millisecond
			left -= l.expire(at)
			switch r.IntN(4) {
			case 0:
				s := Stretch{Per: float64(per), At: max(end, at) + time.Duration(r.IntN(20))*time.Millisecond, N: 1 + r.Int64N(30), Ends: at + time.Duration(1+r.IntN(100))*time.Millisecond}
				end = s.At + time.Duration(s.N)*per
				l.add(s)
				left += s.N
			case 1:
				if n := min(left, 1+r.Int64N(5)); n > 0 {
					out = append(out, take(&l, n))
					left -= n
				}
			case 2:
				if len(out) > 0 {
					s := out[len(out)-1]
					out = out[:len(out)-1]
					l.give(s)
					left += s.N
				}
			case 3:
				for _, s := range l.drop(r.Int64N(1 + left/4)) {
					left -= s.N
				}
			}
			sum := int64(0)
			for _, s := range l {
				require.Positive(t, s.N)
				require.LessOrEqual(t, s.At+time.Duration(s.N)*per, end+time.Microsecond)
				sum += s.N
			}
			require.Equal(t, left, sum)
		}
	}
}
