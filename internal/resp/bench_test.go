package resp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// appendHit encodes what a rate limiter sends for one hit.
func appendHit(b []byte) []byte {
	b = AppendArray(b, 3)
	b = AppendBulk(b, "INCRBY")
	b = AppendBulk(b, "limit:{user:12345}:minute")
	b = AppendBulkInt(b, 1)
	return AppendCommand(b, "EXPIRE", "limit:{user:12345}:minute", "60")
}

var streams = []struct{ name, text string }{
	{"int", strings.Repeat(":123\r\n", 1000)},
	{"bulk", strings.Repeat("$64\r\n"+strings.Repeat("x", 64)+"\r\n", 200)},
	{"array", strings.Repeat("*2\r\n:1\r\n_\r\n", 200)},
}

func countFrames(f *Framer, p []byte) (n int) {
	for len(p) > 0 {
		used, done, err := f.Next(p)
		if err != nil {
			panic(err)
		}
		if p = p[used:]; done {
			n++
		}
	}
	return n
}

func TestNothingIsAllocated(t *testing.T) {
	buf := appendHit(nil)
	assert.Zero(t, testing.AllocsPerRun(100, func() { buf = appendHit(buf[:0]) }), "encoding")
	f := NewFramer(DefaultMaxReply)
	for _, s := range streams {
		p := []byte(s.text)
		assert.Zero(t, testing.AllocsPerRun(100, func() { countFrames(f, p) }), "framing, %s", s.name)
		assert.Zero(t, testing.AllocsPerRun(100, func() { countFrames(f, p[:len(p)-3]); countFrames(f, p[len(p)-3:]) }))
	}
	small, large, bulk := []byte(":123\r\n"), []byte(":9223372036854775807\r\n"), []byte("$3\r\n123\r\n")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for _, reply := range [][]byte{small, large, bulk} {
			_, _ = Int(reply)
			_, _ = Bytes(reply)
			_, _ = IsError(reply), IsNull(reply)
		}
	}), "decoding")
}

func BenchmarkEncode(b *testing.B) {
	buf := appendHit(nil)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = appendHit(buf[:0])
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, s := range streams[:2] {
		b.Run(s.name, func(b *testing.B) {
			p, f := []byte(s.text), NewFramer(DefaultMaxReply)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			replies := 0
			for b.Loop() {
				replies += countFrames(f, p)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(replies), "ns/reply")
		})
	}
}
