package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Histogram is a distribution of latencies, in nanoseconds. As JSON it is a text that has
// all of it.
type Histogram struct{ *hdrhistogram.Histogram }

// longest is the highest latency that a histogram holds; higher ones count as
// this.
const longest = 2 * time.Minute

func newHistogram() Histogram { return Histogram{hdrhistogram.New(1, longest.Nanoseconds(), 3)} }

// together returns the latencies of all parts.
func together(parts ...Histogram) Histogram {
	all := newHistogram()
	for _, h := range parts {
		if h.Count() > 0 {
			all.Merge(h.Histogram)
		}
	}
	return all
}

// Count returns how many latencies there are.
func (h Histogram) Count() int64 {
	if h.Histogram == nil {
		return 0
	}
	return h.TotalCount()
}

// At returns the latency that so many percent do not exceed.
func (h Histogram) At(percent float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(percent))
}

// MarshalText is part of encoding.TextMarshaler.
func (h Histogram) MarshalText() ([]byte, error) {
	if h.Count() == 0 {
		return nil, nil
	}
	return h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}

// UnmarshalText is part of encoding.TextUnmarshaler.
func (h *Histogram) UnmarshalText(text []byte) (err error) {
	if *h = newHistogram(); len(text) > 0 {
		h.Histogram, err = hdrhistogram.Decode(text)
	}
	return err
}
