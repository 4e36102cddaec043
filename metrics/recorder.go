package metrics

import (
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A recorder is a histogram of durations, and three counters, that many callers add to. An observation is two
// additions, in memory that few others write at the same moment. The buckets are those of a prometheus.Histogram with
// durationBuckets and a NativeHistogramBucketFactor of 1.1. Durations below a microsecond, and above 17 minutes, share a
// native bucket.
type recorder struct {
	parts []part
}

// A part is what some of the observations have added up to.
type part struct {
	counts [maxCells]atomic.Uint64 // by cell
	sum    atomic.Int64            // nanoseconds
	extras [3]atomic.Uint64        // see [part.add]
	_      [64]byte                // no other part is in the same line of the cache
}

func newRecorder() *recorder {
	n := 1 << bits.Len(uint(min(runtime.GOMAXPROCS(0), 8)-1))
	return &recorder{make([]part, n)}
}

// observe adds a duration. It returns the part that has it.
func (r *recorder) observe(took time.Duration) *part {
	took = min(max(took, 0), longest)
	p := &r.parts[int(took>>7)&(len(r.parts)-1)] // which part is chance, and a random number costs more
	p.counts[cells.of(uint64(took))].Add(1)
	p.sum.Add(int64(took))
	return p
}

// add adds n, unless it is negative, to what else is counted.
func (p *part) add(extra, n int) {
	if n > 0 {
		p.extras[extra].Add(uint64(n))
	}
}

// A record is what all parts of a recorder add up to.
type record struct {
	counts []uint64 // by cell
	total  uint64   // of the counts
	sum    int64
	extras [len(part{}.extras)]uint64
}

func (r *recorder) read() *record {
	all := &record{counts: make([]uint64, len(cells.bounds))}
	for i := range r.parts {
		p := &r.parts[i]
		for cell := range all.counts {
			n := p.counts[cell].Load()
			all.counts[cell] += n
			all.total += n
		}
		all.sum += p.sum.Load()
		for extra := range all.extras {
			all.extras[extra] += p.extras[extra].Load()
		}
	}
	return all
}

// metric returns the histogram, with the values of its labels.
func (r *record) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	below, buckets := uint64(0), make(map[float64]uint64)
	for cell, n := range r.counts {
		below += n
		if next := len(buckets); next < len(durationBuckets) && cells.bounds[cell] == nanoseconds(durationBuckets[next]) {
			buckets[durationBuckets[next]] = below
		}
	}
	classic, err := prometheus.NewConstHistogram(desc, r.total, time.Duration(r.sum).Seconds(), buckets, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return withNative{classic, r.counts}
}

// withNative adds native buckets to the classic ones of a histogram.
type withNative struct {
	prometheus.Metric
	counts []uint64 // by cell
}

// Write is part of prometheus.Metric.
func (m withNative) Write(out *dto.Metric) error {
	if err := m.Metric.Write(out); err != nil {
		return err
	}
	h, known, none, threshold := out.GetHistogram(), int32(schema), uint64(0), prometheus.DefNativeHistogramZeroThreshold
	h.Schema, h.ZeroCount, h.ZeroThreshold = &known, &none, &threshold
	var last int32 // the key of the last bucket
	var before int64
	for cell := 0; cell < len(m.counts); {
		key, n := cells.keys[cell], int64(0)
		for ; cell < len(m.counts) && cells.keys[cell] == key; cell++ {
			n += int64(m.counts[cell])
		}
		if n == 0 {
			continue
		}
		if spans := h.PositiveSpan; len(spans) == 0 || key != last+1 {
			offset, length := key, uint32(0)
			if len(spans) > 0 {
				offset -= last + 1
			}
			h.PositiveSpan = append(spans, &dto.BucketSpan{Offset: &offset, Length: &length})
		}
		*h.PositiveSpan[len(h.PositiveSpan)-1].Length++
		h.PositiveDelta = append(h.PositiveDelta, n-before)
		last, before = key, n
	}
	return nil
}

// A native bucket ends at 2^(key/8) seconds.
const (
	schema   = 3 // 2^schema buckets for a factor of 2
	leastKey = -20 << schema
	mostKey  = 10 << schema
	longest  = 365 * 24 * time.Hour // that is observed
	maxCells = len(durationBuckets) + mostKey - leastKey + 2
)

func nativeBound(key int32) uint64 {
	return uint64(math.Exp2(float64(key)/(1<<schema)) * float64(time.Second))
}

func nanoseconds(seconds float64) uint64 {
	return uint64(math.Round(seconds * float64(time.Second)))
}

// A division is the cells that durations are counted in: each ends at a bound of a classic or of a native bucket.
type division struct {
	bounds []uint64 // nanoseconds, in order
	keys   []int32  // of the native bucket that a cell is in

	// starts has the first cell that a duration may be in, by its length in bits and the two bits behind the first.
	starts [65 << 2]int
}

var cells = divide()

func divide() *division {
	d := new(division)
	for _, bound := range durationBuckets {
		d.bounds = append(d.bounds, nanoseconds(bound))
	}
	for key := int32(leastKey); key <= mostKey; key++ {
		d.bounds = append(d.bounds, nativeBound(key))
	}
	slices.Sort(d.bounds)
	d.bounds = append(slices.Compact(d.bounds), math.MaxUint64)
	key := int32(leastKey)
	for _, bound := range d.bounds {
		for key <= mostKey && nativeBound(key) < bound {
			key++
		}
		d.keys = append(d.keys, key)
	}
	for i := range d.starts {
		if length := i >> 2; length >= 3 {
			d.starts[i], _ = slices.BinarySearch(d.bounds, uint64(4|i&3)<<(length-3))
		}
	}
	return d
}

// of returns the cell of a duration.
func (d *division) of(nanoseconds uint64) int {
	length := bits.Len64(nanoseconds)
	cell := d.starts[length<<2|int(nanoseconds>>max(length-3, 0))&3]
	for d.bounds[cell] < nanoseconds {
		cell++
	}
	return cell
}
