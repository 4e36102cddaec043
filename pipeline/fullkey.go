package pipeline

import (
	"hash/maphash"
	"math/bits"

	"github.com/redislanes/redislanes/internal/slots"
)

// A fullKey is a key in two parts, so that one which begins like many others need not
// be put together before it is on its way. Different fullKeys may name one key.
type fullKey struct{ prefix, key string }

func (k fullKey) String() string { return k.prefix + k.key }

func (k fullKey) slot() uint16 {
	if k.prefix == "" {
		return slots.Of(k.key)
	}
	return slots.OfParts(k.prefix, k.key)
}

func (k fullKey) hash(seed maphash.Seed) uint64 {
	h := maphash.String(seed, k.key)
	if k.prefix != "" {
		h = bits.RotateLeft64(h, 1) ^ maphash.String(seed, k.prefix)
	}
	return h
}
