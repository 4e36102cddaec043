package resp

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/redislanes/redislanes/lanes"
)

// The defaults of [lanes.Limits]. Package lanes has the bounds of its fields.
const (
	defaultBulk       = 512 << 20 // as proto-max-bulk-len of Redis
	defaultElements   = 16 << 20
	defaultLine       = 64 << 10
	defaultReply      = 1 << 30
	defaultDepth      = 1024
	defaultAttributes = 1 << 20
)

// MaxCommandName is at least the length of the name of any command, with that of its
// subcommand.
const MaxCommandName = 40

// WithDefaults returns l with its zero fields set.
func WithDefaults(l lanes.Limits) lanes.Limits {
	l.Bulk = cmp.Or(l.Bulk, defaultBulk)
	l.Elements = cmp.Or(l.Elements, defaultElements)
	l.Line = cmp.Or(l.Line, defaultLine)
	l.Reply = cmp.Or(l.Reply, defaultReply)
	l.Depth = cmp.Or(l.Depth, defaultDepth)
	l.Attributes = cmp.Or(l.Attributes, defaultAttributes)
	return l
}

// TooMuch says which limit a reply exceeds whose end is found all the same. Such a reply is
// refused by itself ([Framer.Refused]). A legal reply must not close a connection that others
// share. Beyond the other limits, the stream ends with an [ErrProtocol].
type TooMuch uint8

// What a reply may have too much of.
const (
	NotRefused TooMuch = iota
	TooDeep
	TooManyAttributes
)

// AppendRefusal appends the error reply that takes the place of one that
// exceeds a limit.
func AppendRefusal(b []byte, t TooMuch, l lanes.Limits) []byte {
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
