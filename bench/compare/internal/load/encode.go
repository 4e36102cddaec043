package load

import (
	"encoding/json"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// plain is a Result without its methods, for package json.
type plain Result

// An encoded Result has its histograms as text.
type encoded struct {
	*plain
	Reads, Writes, Slow, IdleTrips, LoadedTrips string
}

// MarshalJSON writes all of the result, so that everything that a report says can
// be computed from it again.
func (r *Result) MarshalJSON() ([]byte, error) {
	e := encoded{plain: (*plain)(r)}
	for h, text := range r.histograms(&e) {
		if (*h).TotalCount() == 0 {
			continue
		}
		b, err := (*h).Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, fmt.Errorf("encoding latencies: %w", err)
		}
		*text = string(b)
	}
	return json.Marshal(e)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Result) UnmarshalJSON(data []byte) error {
	*r = *NewResult()
	e := encoded{plain: (*plain)(r)}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	for h, text := range r.histograms(&e) {
		if *text == "" {
			continue
		}
		decoded, err := hdrhistogram.Decode([]byte(*text))
		if err != nil {
			return fmt.Errorf("decoding latencies: %w", err)
		}
		*h = decoded
	}
	return nil
}

// histograms pairs those of the result with their texts.
func (r *Result) histograms(e *encoded) map[**hdrhistogram.Histogram]*string {
	return map[**hdrhistogram.Histogram]*string{
		&r.Reads: &e.Reads, &r.Writes: &e.Writes, &r.Slow: &e.Slow,
		&r.IdleTrips: &e.IdleTrips, &r.LoadedTrips: &e.LoadedTrips,
	}
}
