package model

import "bytes"

// SlotCount is how many hash slots a cluster has.
const SlotCount = 16384

// Slot returns the key's hash slot: CRC16 (XMODEM) of the key, or of its hash
// tag, modulo 16384, after the Redis Cluster specification.
func Slot(key []byte) uint16 {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		rest := key[open+1:]
		if end := bytes.IndexByte(rest, '}'); end > 0 {
			key = rest[:end]
		}
	}
	var crc uint16
	for _, b := range key {
		crc = crc<<8 ^ crcOf[byte(crc>>8)^b]
	}
	return crc % SlotCount
}

// crcOf is the remainder of each byte, shifted by 16, divided by x^16+x^12+x^5+1.
var crcOf = func() (table [256]uint16) {
	const polynomial = 0x1021
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			if crc <<= 1; carry {
				crc ^= polynomial
			}
		}
		table[i] = crc
	}
	return table
}()
