package model

import "github.com/mediocregopher/radix/v4"

// SlotCount is how many hash slots a cluster has.
const SlotCount = 16384

// Slot returns the key's hash slot.
func Slot(key []byte) uint16 { return radix.ClusterSlot(key) }
