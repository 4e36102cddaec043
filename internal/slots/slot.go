package slots

import (
	"bytes"
	"strings"
)

// Count is the number of hash slots of every Redis Cluster. Slots are
// numbered 0 to Count-1.
const Count = 16384

// Of returns the hash slot of key, as the Redis Cluster specification
// ("Key distribution model" and "Hash tags") defines it: CRC16 of the key
// modulo Count, where only the text between the first '{' and the first
// '}' after it counts if that text is not empty. Keys are bytes: any key,
// also an empty or a binary one, has a slot. It equals CLUSTER KEYSLOT.
//
// Of does not allocate and is safe for concurrent use.
func Of(key string) uint16 {
	if i := strings.IndexByte(key, '{') + 1; i > 0 {
		if n := strings.IndexByte(key[i:], '}'); n > 0 {
			key = key[i : i+n]
		}
	}
	return crc16(0, key) % Count
}

// OfBytes is Of for a key that is held as bytes. It keeps no reference to
// key.
func OfBytes(key []byte) uint16 {
	if i := bytes.IndexByte(key, '{') + 1; i > 0 {
		if n := bytes.IndexByte(key[i:], '}'); n > 0 {
			key = key[i : i+n]
		}
	}
	return crc16(0, key) % Count
}

// crcPoly is the polynomial of CRC16/XMODEM, appendix A of the specification.
const crcPoly = 0x1021

// crcTables[k][b] is the CRC of byte b followed by k zero bytes. Eight tables
// let eight bytes be looked up independently of one another.
var crcTables = makeCRCTables()

func makeCRCTables() *[8][256]uint16 {
	var t [8][256]uint16
	for b := range t[0] {
		crc := uint16(b) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*crcPoly
		}
		t[0][b] = crc
	}
	for k := 1; k < len(t); k++ {
		for b, crc := range t[k-1] {
			t[k][b] = crc<<8 ^ t[0][crc>>8]
		}
	}
	return &t
}

// crc16 computes CRC16/XMODEM: polynomial 0x1021, neither reflected nor inverted. The
// initial value is 0, or the CRC of what comes before s.
func crc16[T string | []byte](crc uint16, s T) uint16 {
	t := crcTables
	for len(s) >= 8 {
		crc = t[7][byte(crc>>8)^s[0]] ^ t[6][byte(crc)^s[1]] ^
			t[5][s[2]] ^ t[4][s[3]] ^ t[3][s[4]] ^
			t[2][s[5]] ^ t[1][s[6]] ^ t[0][s[7]]
		s = s[8:]
	}
	for i := range len(s) {
		crc = crc<<8 ^ t[0][byte(crc>>8)^s[i]]
	}
	return crc
}
