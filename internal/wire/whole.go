package wire

import (
	"net"

	"github.com/redislanes/redislanes/internal/resp"
)

// A replyReader reads replies one by one, without attributes. An
// error in the middle of one, such as a deadline, loses nothing of it.
type replyReader struct {
	conn   net.Conn
	framer *resp.Framer
	pushes bool // they are replies; else they are dropped
	count  int  // of the replies that were read
	chunk  [readChunk]byte
	unread []byte // the rest of chunk; nil before anything has come
	reply  []byte // that is being read
	broken error  // after it there is no reply
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
		if r.framer.Aside() != '|' {
			r.reply = append(r.reply, r.unread[:n]...)
		}
		r.unread = r.unread[n:]
		if done && r.framer.Aside() == '>' && !r.pushes {
			r.reply, done = r.reply[:0], false // used again, so that endless pushes cost no memory
		}
	}
	r.count++
	reply, r.reply = r.reply, nil
	return reply, nil
}

// A wholeConn is a connection that is read by whole replies. It is for radix's decoder, which
// believes the lengths that a server claims.
type wholeConn struct {
	net.Conn
	replies *replyReader
	whole   []byte // the rest of the last reply, for Read
}

func newWholeConn(conn net.Conn, limit int64) *wholeConn {
	return &wholeConn{Conn: conn, replies: &replyReader{conn: conn, framer: resp.NewFramer(limit), pushes: true}}
}

// Read is part of net.Conn.
func (c *wholeConn) Read(p []byte) (int, error) {
	if len(c.whole) == 0 {
		reply, err := c.replies.next()
		if err != nil {
			return 0, err
		}
		c.whole = reply
	}
	n := copy(p, c.whole)
	c.whole = c.whole[n:]
	return n, nil
}
