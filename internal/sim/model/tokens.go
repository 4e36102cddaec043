package model

import (
	"strconv"
	"strings"
	"time"
)

// Tokens makes a password with an end of what was one without: [Token] makes it, and it may
// be used for so long from then on. The server closes connections on which nobody has
// authenticated with a later one until then. 0: passwords have no end.
func (n *Node) Tokens(life time.Duration) { n.lock(func(time.Time) { n.tokens = life }) }

// Token returns the password as a token that was made at the time.
func Token(password string, at time.Time) string {
	return password + "@" + strconv.FormatInt(at.UnixNano(), 36)
}

// takes reports whether the password is the node's, and for how long.
func (n *Node) takes(password string, now time.Time) (until time.Time, ok bool) {
	if n.tokens == 0 {
		return time.Time{}, password == n.password
	}
	secret, made, _ := strings.Cut(password, "@")
	at, err := strconv.ParseInt(made, 36, 64)
	until = time.Unix(0, at).Add(n.tokens)
	return until, err == nil && secret == n.password && now.Before(until)
}

// expires closes the session when the time is over, unless it has another one by then.
func (s *Session) expires(until time.Time) {
	s.until = until
	if until.IsZero() {
		return
	}
	time.AfterFunc(time.Until(until), func() {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		if hangUp := s.close; !s.dead && s.until.Equal(until) && hangUp != nil {
			s.end()
			hangUp()
		}
	})
}
