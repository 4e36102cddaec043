package wire

// Large replies. A bulk string of which much is missing is read straight into the memory of its
// batch, with as few system calls as the socket allows: a fifth of the CPU that it costs through
// the lane's read buffer. Everything else goes through that buffer, which grows while reads fill it.

// readOnce reads once and delivers. It returns how many batches it completed.
func (l *Lane) readOnce() (batches int, err error) {
	if b, space := l.bulkSpace(); b != nil {
		n, err := l.conn.Read(space)
		if n > 0 {
			l.progress.Add(1)
			if bad := l.tookBulk(b, n); bad != nil {
				return 0, bad
			}
		}
		return 0, err
	}
	n, err := l.conn.Read(l.rbuf)
	if n > 0 {
		l.progress.Add(1)
		var bad error
		if batches, bad = l.deliver(l.rbuf[:n], err); bad != nil {
			return batches, bad
		}
		if n == len(l.rbuf) && n < maxReadBuffer {
			l.rbuf = make([]byte, 2*n)
			l.grown.Store(true)
		}
	}
	return batches, err
}

// bulkSpace returns the oldest batch and where in its memory the next bytes
// belong, if they are all of one bulk string; else nil. The memory is behind
// what the batch has of replies, so that its caller may leave meanwhile.
func (l *Lane) bulkSpace() (*Batch, []byte) {
	left := l.framer.Bulk()
	if left < minReadBuffer || l.framer.Aside() != 0 {
		return nil, nil
	}
	l.replyMu.Lock()
	defer l.replyMu.Unlock()
	b := l.oldest
	if b == nil || b.abandoned {
		return nil, nil
	}
	have := len(b.buf)
	if need := have + int(min(left, int64(max(growAtOnce, have)))) + len("\r\n"); cap(b.buf) < need {
		grown := make([]byte, have, max(need, have+have/2)) // so that many replies are not copied for each
		copy(grown, b.buf)
		b.buf = grown
	}
	return b, b.buf[have:min(int64(cap(b.buf)), int64(have)+left)]
}

// tookBulk takes over n bytes that were read into bulkSpace.
func (l *Lane) tookBulk(b *Batch, n int) error {
	l.replyMu.Lock()
	defer l.replyMu.Unlock()
	if l.oldest == b && !b.abandoned { // or else the lane was settled meanwhile
		b.buf = b.buf[:len(b.buf)+n]
	}
	return l.framer.Skip(n)
}

// shrinkReads takes back what the read buffer grew by.
func (l *Lane) shrinkReads() {
	if len(l.rbuf) > minReadBuffer {
		l.rbuf = make([]byte, minReadBuffer)
		l.grown.Store(false)
	}
}
