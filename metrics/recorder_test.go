package metrics

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

// TestRecorderIsAHistogram: it exports what a prometheus.Histogram does that is told the same.
func TestRecorderIsAHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	recorder, histogram := newRecorder(), prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "x", Help: "y", Buckets: durationBuckets[:], NativeHistogramBucketFactor: 1.1,
	})
	took := []time.Duration{
		2 * time.Microsecond, 50 * time.Microsecond, 50*time.Microsecond + 1, time.Second, time.Second + 1, time.Second - 1,
		1953125, 1953126, 10 * time.Second, 1000 * time.Second, // 2^-9 s is the bound of a native bucket
	}
	for range 20_000 { // of all lengths
		took = append(took, 2*time.Microsecond+time.Duration(r.Int64N(1+int64(1000*time.Second)>>r.IntN(30))))
	}
	for _, d := range took {
		recorder.observe(d)
		histogram.Observe(d.Seconds())
	}
	got, want := written(t, recorder.read().metric(histogram.Desc())), written(t, histogram)
	require.Equal(t, want.GetSampleCount(), got.GetSampleCount())
	require.InDelta(t, want.GetSampleSum(), got.GetSampleSum(), 1e-3)
	require.Equal(t, len(want.GetBucket()), len(got.GetBucket()))
	for i, b := range want.GetBucket() {
		require.Equal(t, b.GetUpperBound(), got.GetBucket()[i].GetUpperBound())
		require.Equal(t, b.GetCumulativeCount(), got.GetBucket()[i].GetCumulativeCount(), b.GetUpperBound())
	}
	require.Equal(t, want.GetSchema(), got.GetSchema())
	require.Equal(t, want.GetZeroThreshold(), got.GetZeroThreshold())
	require.Equal(t, native(want), native(got))
	require.Greater(t, len(native(got)), 200)
}

func written(t *testing.T, m prometheus.Metric) *dto.Histogram {
	var out dto.Metric
	require.NoError(t, m.Write(&out))
	return out.GetHistogram()
}

// native returns the counts of the native buckets by their keys, without empty ones.
func native(h *dto.Histogram) map[int]int64 {
	counts, key, n, i := make(map[int]int64), 0, int64(0), 0
	for _, span := range h.GetPositiveSpan() {
		key += int(span.GetOffset())
		for range span.GetLength() {
			if n += h.GetPositiveDelta()[i]; n > 0 {
				counts[key] = n
			}
			i, key = i+1, key+1
		}
	}
	return counts
}

// TestRecorderOfStrangeDurations: those beyond all buckets are counted.
func TestRecorderOfStrangeDurations(t *testing.T) {
	recorder := newRecorder()
	for _, took := range []time.Duration{-time.Second, 0, 1, 1 << 62} {
		recorder.observe(took)
	}
	h := written(t, recorder.read().metric(requestMetric.desc(), "ok"))
	require.EqualValues(t, 4, h.GetSampleCount())
	require.Equal(t, map[int]int64{leastKey: 3, mostKey + 1: 1}, native(h))
	require.InDelta(t, longest.Seconds(), h.GetSampleSum(), 1)
}
