package wire

import (
	"net"

	"github.com/redislanes/redislanes/internal/resp"
)

// A wholeConn is a connection that is read by whole replies, within the limits and without
// attributes. It is for radix's decoder, which believes the lengths that a server claims. A
// deadline in the middle of a reply loses nothing of it.
type wholeConn struct {
	net.Conn
	limits resp.Limits
	framer *resp.Framer
	chunk  [readChunk]byte
	unread []byte // the rest of chunk
	reply  []byte // that is being read
	whole  []byte // the rest of the last reply, for Read
	broken error  // after it there is no reply
}

// newWholeConn: MONITOR tells of a command in one line, which may have a bulk string.
func newWholeConn(conn net.Conn, l resp.Limits) *wholeConn {
	l.Line = max(l.Line, l.Bulk)
	return &wholeConn{Conn: conn, limits: l, framer: resp.NewFramer(l)}
}

// Read is part of net.Conn.
func (c *wholeConn) Read(p []byte) (int, error) {
	for len(c.whole) == 0 && c.broken == nil {
		if len(c.unread) == 0 {
			n, err := c.Conn.Read(c.chunk[:])
			if n == 0 {
				return 0, err
			}
			c.unread = c.chunk[:n]
		}
		c.frame()
	}
	if len(c.whole) == 0 {
		return 0, c.broken
	}
	n := copy(p, c.whole)
	c.whole = c.whole[n:]
	return n, nil
}

// frame takes over what is unread of the reply.
func (c *wholeConn) frame() {
	n, done, err := c.framer.Next(c.unread)
	c.reply, c.unread = append(c.reply, c.unread[:n]...), c.unread[n:]
	why := c.framer.Refused()
	if why != resp.NotRefused {
		c.reply = c.reply[:0]
	}
	switch {
	case err != nil:
		c.broken = err
	case done && why != resp.NotRefused:
		c.whole = resp.AppendRefusal(nil, why, c.limits)
	case done:
		c.whole, c.reply = shortLine(resp.WithoutAttributes(c.reply)), nil
	}
}

// shortLine returns a status as a bulk string if it is longer than a line that radix reads, and cuts an
// error off there.
func shortLine(reply []byte) []byte {
	switch {
	case len(reply) <= radixLine:
	case reply[0] == '+':
		return resp.AppendBulk(nil, string(reply[1:len(reply)-len("\r\n")]))
	case reply[0] == '-':
		return append(reply[:radixLine-len("\r\n")], "\r\n"...)
	}
	return reply
}
