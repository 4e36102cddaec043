package wire

import (
	"net"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A replyReader reads replies and pushes one by one, within the limits and without attributes. An
// error in the middle of one, such as a deadline, loses nothing of it.
type replyReader struct {
	conn   net.Conn
	limits lanes.Limits
	framer *resp.Framer
	chunk  [readChunk]byte
	unread []byte // the rest of chunk; nil before anything has come
	reply  []byte // that is being read
	broken error  // after it there is no reply
}

func newReplyReader(conn net.Conn, l lanes.Limits) *replyReader {
	return &replyReader{conn: conn, limits: l, framer: resp.NewFramer(l)}
}

func (r *replyReader) next() (reply []byte, err error) {
	for done := false; !done; {
		if r.broken != nil {
			return nil, r.broken
		}
		if len(r.unread) == 0 {
			n, err := r.conn.Read(r.chunk[:])
			if n == 0 && err != nil {
				return nil, err
			}
			r.unread = r.chunk[:n]
		}
		var n int
		n, done, r.broken = r.framer.Next(r.unread)
		r.reply, r.unread = append(r.reply, r.unread[:n]...), r.unread[n:]
		if r.framer.Refused() != resp.NotRefused {
			r.reply = r.reply[:0]
		}
	}
	reply, r.reply = resp.WithoutAttributes(r.reply), nil
	if why := r.framer.Refused(); why != resp.NotRefused {
		reply = resp.AppendRefusal(nil, why, r.limits)
	}
	return reply, nil
}

// A wholeConn is a connection that is read by whole replies. It is for radix's decoder, which
// believes the lengths that a server claims.
type wholeConn struct {
	net.Conn
	replies *replyReader
	whole   []byte // the rest of the last reply, for Read
}

// newWholeConn: MONITOR tells of a command in one line, which may have a bulk string.
func newWholeConn(conn net.Conn, l lanes.Limits) *wholeConn {
	l.Line = max(l.Line, l.Bulk)
	return &wholeConn{Conn: conn, replies: newReplyReader(conn, l)}
}

// Read is part of net.Conn.
func (c *wholeConn) Read(p []byte) (int, error) {
	if len(c.whole) == 0 {
		reply, err := c.replies.next()
		if err != nil {
			return 0, err
		}
		c.whole = shortLine(reply)
	}
	n := copy(p, c.whole)
	c.whole = c.whole[n:]
	return n, nil
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
