package load

import "math/rand/v2"

// Uniform returns a function that draws one of n keys, all as likely.
func Uniform(n int, seed uint64) func() int {
	random := rand.New(rand.NewPCG(seed, 0))
	return func() int { return random.IntN(n) }
}

// Zipf returns a function that draws one of n keys by a Zipf distribution: key k
// with a probability proportional to (1+k)^-skew. The skew is above 1.
func Zipf(n int, skew float64, seed uint64) func() int {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(seed, 0)), skew, 1, uint64(n-1))
	return func() int { return int(zipf.Uint64()) }
}
