package health

import "time"

// A Conn is what is known of one connection. The zero value is a new one.
type Conn struct {
	progress uint64        // of its bytes, at the last look
	answered uint64        // batches, at the last look
	waits    time.Time     // since when a reply has been due and no byte has arrived; zero: none is due
	age      time.Duration // of its oldest batch, counted from the first look that saw it
	reply    time.Duration // its reply time; 0: it has answered nothing yet and nothing is due
	known    bool          // it has answered something
	slow     time.Time     // since when it has been slow; zero: it is not
}

// Slow reports whether the reply time is much longer than the best of its siblings. It is the one
// comparison, for the connections of a pool and for the replicas of a primary.
func Slow(reply, best time.Duration) bool { return Late(reply) && reply > slowTimes*best }

// Late reports whether the reply time is so long that it is to be compared.
func Late(reply time.Duration) bool { return reply > slowLeast }

// Slow reports whether the connection was much slower than the best one at the last look.
func (c *Conn) Slow() bool { return !c.slow.IsZero() }

// Silence returns how long no byte has arrived at the last look although a reply is due.
func (s *Server) Silence(c *Conn) time.Duration {
	if c.waits.IsZero() {
		return 0
	}
	return s.looked.Sub(c.waits)
}

// Replaces reports whether the connection has been slow for so long that another one is to take its place.
func (s *Server) Replaces(c *Conn) bool { return c.Slow() && s.looked.Sub(c.slow) >= s.StallTimeout }

// Ends reports whether the connection is to be closed, whatever is in flight on it: it is dead, or
// was replaced long ago.
func (s *Server) Ends(c *Conn) bool {
	return s.Silence(c) >= max(lastReplies, s.StallTimeout) || c.Slow() && s.looked.Sub(c.slow) >= s.StallTimeout+lastReplies
}
