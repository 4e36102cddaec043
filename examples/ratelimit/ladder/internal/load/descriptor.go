package load

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// A Descriptor is the entries of one descriptor of each request. An asterisk in a
// value stands for the number of the request's key.
type Descriptor []Entry

// An Entry is one pair of a descriptor.
type Entry struct{ Key, Value string }

// UnmarshalText reads a descriptor such as tenant=acme,user=*.
func (d *Descriptor) UnmarshalText(text []byte) error {
	*d = nil
	for pair := range strings.SplitSeq(string(text), ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return fmt.Errorf("%q: want entries key=value with commas between them, such as tenant=acme,user=*", text)
		}
		*d = append(*d, Entry{key, value})
	}
	return nil
}

// String returns the text that UnmarshalText reads.
func (d Descriptor) String() string {
	var pairs []string
	for _, e := range d {
		pairs = append(pairs, e.Key+"="+e.Value)
	}
	return strings.Join(pairs, ",")
}

// Varies reports whether requests differ by their key.
func (d Descriptor) Varies() bool {
	return slices.ContainsFunc(d, func(e Entry) bool { return strings.Contains(e.Value, "*") })
}

// Requests returns the requests of all keys, by the number of the key.
func Requests(domain string, descriptors []Descriptor, keys int) []*rls.RateLimitRequest {
	all := make([]*rls.RateLimitRequest, keys)
	for i := range all {
		number := fmt.Sprintf("%06d", i)
		all[i] = &rls.RateLimitRequest{Domain: domain}
		for _, d := range descriptors {
			message := &rlspb.RateLimitDescriptor{}
			for _, e := range d {
				message.Entries = append(message.Entries, &rlspb.RateLimitDescriptor_Entry{
					Key: e.Key, Value: strings.ReplaceAll(e.Value, "*", number),
				})
			}
			all[i].Descriptors = append(all[i].Descriptors, message)
		}
	}
	return all
}

// Keys returns a function that draws one of n keys: all as likely, or with a skew above 1 by a Zipf
// distribution, key k with a probability proportional to (1+k)^-skew.
func Keys(n int, skew float64, seed uint64) func() int {
	random := rand.New(rand.NewPCG(seed, 0))
	if skew == 0 || n == 1 {
		return func() int { return random.IntN(n) }
	}
	zipf := rand.NewZipf(random, skew, 1, uint64(n-1))
	return func() int { return int(zipf.Uint64()) }
}
