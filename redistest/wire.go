package redistest

import (
	"bufio"

	"github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
)

// longestLine is how long a line may be that a proxy takes apart.
const longestLine = 128 << 10

// readCommand reads an array of bulk strings.
func readCommand(r *bufio.Reader) (raw []byte, args []string, err error) {
	if raw, err = readReply(r, nil); err == nil {
		err = resp3.RawMessage(raw).UnmarshalInto(&args, resp.NewOpts())
	}
	return raw, args, err
}

// readReply appends one reply to raw, with the attributes in front of it.
func readReply(r *bufio.Reader, raw []byte) ([]byte, error) {
	var message resp3.RawMessage
	err := message.UnmarshalRESP(r, nil)
	raw = append(raw, message...)
	if err == nil && resp3.Prefix(message[0]) == resp3.AttributeHeaderPrefix {
		return readReply(r, raw)
	}
	return raw, err
}
