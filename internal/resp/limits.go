package resp

import (
	"bytes"
	"fmt"
)

// Limits bound what one reply may cost. A zero field takes its default. A reply
// beyond Depth or Attributes is refused by itself ([Framer.Refused]), since a legal
// reply must not close a connection that others share: 49 of 17 levels, from a
// script, gave 16 neighbours 220 unknown outcomes. Beyond the others, the stream
// ends with an [ErrProtocol].
type Limits struct {
	Bulk       int64 // bytes of one bulk string; default 512 MiB, Redis' own proto-max-bulk-len; at most 64 GiB
	Elements   int64 // elements of one aggregate; default 16 Mi, at most 1 Gi
	Line       int64 // bytes of one simple string, number or error; default 64 KiB, at most 1 GiB
	Reply      int64 // bytes of one whole reply; default 1 GiB, at most 64 GiB
	Depth      int   // nesting of aggregates; default 1,024, at most 4,096
	Attributes int64 // attributes of RESP3 in one reply; default 1 Mi, at most 1 Gi
}

// maxDepth bounds the stack of radix's decoder, which recurses for each level and
// was seen to use 1 to 2 KiB for it: 8 MiB, of the 1 GiB that Go allows.
const maxDepth = 4096

// WithDefaults returns l with its zero fields set.
func (l Limits) WithDefaults() Limits {
	set := func(field *int64, value int64) {
		if *field == 0 {
			*field = value
		}
	}
	set(&l.Bulk, 512<<20)
	set(&l.Elements, 16<<20)
	set(&l.Line, 64<<10)
	set(&l.Reply, 1<<30)
	set(&l.Attributes, 1<<20)
	if l.Depth == 0 {
		l.Depth = 1024
	}
	return l
}

// Validate returns an error that names the first field out of range.
func (l Limits) Validate() error {
	for _, f := range []struct {
		name       string
		value, max int64
	}{
		{"Bulk", l.Bulk, 64 << 30}, {"Elements", l.Elements, 1 << 30}, {"Line", l.Line, 1 << 30},
		{"Reply", l.Reply, 64 << 30}, {"Depth", int64(l.Depth), maxDepth}, {"Attributes", l.Attributes, 1 << 30},
	} {
		if f.value < 0 {
			return fmt.Errorf("Limits.%s = %d: must not be negative", f.name, f.value) //nolint:staticcheck // ST1005: the name of a field
		}
		if f.value > f.max {
			return fmt.Errorf("Limits.%s = %d: must be at most %d", f.name, f.value, f.max) //nolint:staticcheck // ST1005: the name of a field
		}
	}
	return nil
}

// TooMuch says which limit a reply exceeds whose end is found all the same.
type TooMuch uint8

// What a reply may have too much of.
const (
	NotRefused TooMuch = iota
	TooDeep
	TooManyAttributes
)

// AppendRefusal appends the error reply that takes the place of one that
// exceeds a limit.
func AppendRefusal(b []byte, t TooMuch, l Limits) []byte {
	switch t {
	case TooDeep:
		b = fmt.Appendf(b, "-TOODEEP the command ran, its reply is nested more than %d deep, which is Limits.Depth\r\n", l.Depth)
	case TooManyAttributes:
		b = fmt.Appendf(b, "-TOOMANY the command ran, its reply has more than %d attributes, which is Limits.Attributes\r\n", l.Attributes)
	}
	return b
}

// IsRefusal reports whether the text is that of an error reply of [AppendRefusal].
func IsRefusal(text []byte) bool {
	return bytes.HasPrefix(text, []byte("TOODEEP the command ran, ")) || bytes.HasPrefix(text, []byte("TOOMANY the command ran, "))
}
