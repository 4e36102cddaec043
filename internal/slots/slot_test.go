package slots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCRC16(t *testing.T) {
	t.Parallel()
	// The check value of appendix A of the Redis Cluster specification.
	assert.Equal(t, uint16(0x31C3), crc16(0, "123456789"))
	assert.Equal(t, uint16(0x31C3), crc16(0, []byte("123456789")))
	assert.Zero(t, crc16(0, ""))

	rnd := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		b := randomBytes(rnd, rnd.IntN(70))
		if want := crc16Bitwise(b); crc16(0, b) != want || crc16(0, string(b)) != want {
			t.Fatalf("crc16(0, %q) = %#x and %#x, want %#x", b, crc16(0, b), crc16(0, string(b)), want)
		}
	}
}

// crc16Bitwise is the model: the division done bit by bit.
func crc16Bitwise(b []byte) uint16 {
	crc := uint16(0)
	for _, c := range b {
		for bit := 7; bit >= 0; bit-- {
			top := crc>>15 != uint16(c>>bit&1)
			crc <<= 1
			if top {
				crc ^= 0x1021
			}
		}
	}
	return crc
}

func TestSlotHashTags(t *testing.T) {
	t.Parallel()
	for key, hashed := range map[string]string{
		"{user1000}.following": "user1000",
		"{user1000}.followers": "user1000",
		"foo{}{bar}":           "foo{}{bar}",
		"foo{{bar}}zap":        "{bar",
		"foo{bar}{zap}":        "bar",
		"foo{bar":              "foo{bar",
		"foo}bar{x}":           "x",
		"foo}bar{":             "foo}bar{",
		"{}":                   "{}",
		"{}abc{tag}":           "{}abc{tag}",
		"{\x00}":               "\x00",
		"":                     "",
		"plain":                "plain",
	} {
		want := crc16Bitwise([]byte(hashed)) % Count
		assert.Equal(t, want, Of(key), "Slot(%q)", key)
		assert.Equal(t, want, OfBytes([]byte(key)), "SlotBytes(%q)", key)
	}
	assert.Equal(t, uint16(12182), Of("foo"))
	assert.Equal(t, uint16(5061), Of("bar"))
}

func TestSlotDoesNotAllocate(t *testing.T) {
	key, raw := "tenant:{42}:requests", []byte("tenant:{42}:requests")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if Of(key) != OfBytes(raw) {
			panic("unequal")
		}
	}))
}

func FuzzSlot(f *testing.F) {
	for _, key := range []string{"", "{", "}{", "a{b}c", "a{}b{c}", "12345678{90}"} {
		f.Add([]byte(key))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		hashed := key
		if _, after, found := strings.Cut(string(key), "{"); found {
			if tag, _, closed := strings.Cut(after, "}"); closed && tag != "" {
				hashed = []byte(tag)
			}
		}
		want := crc16Bitwise(hashed) % Count
		if got := OfBytes(key); got != want || Of(string(key)) != want {
			t.Fatalf("SlotBytes(%q) = %d, Slot = %d, want %d", key, got, Of(string(key)), want)
		}
	})
}

// randomBytes returns n bytes among which braces are frequent.
func randomBytes(rnd *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		switch c := rnd.Uint32(); c % 8 {
		case 0:
			b[i] = '{'
		case 1:
			b[i] = '}'
		default:
			b[i] = byte(c >> 8)
		}
	}
	return b
}

func BenchmarkSlot(b *testing.B) {
	keys := []string{"tag:" + strings.Repeat("x", 20) + ":{user1000}"}
	for _, n := range []int{5, 30, 100, 1000} {
		keys = append(keys, strings.Repeat("k", n))
	}
	for i, key := range keys {
		name := fmt.Sprintf("len=%d", len(key))
		if i == 0 {
			name = "hashtag"
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(key)))
			b.ReportAllocs()
			for b.Loop() {
				Of(key)
			}
		})
	}
}
