package model

import "slices"

func init() {
	register("multi 1 noscript,loading,stale,fast,allow_busy 0 0 0", multi)
	register("exec 1 noscript,loading,stale 0 0 0", execAll)
	register("discard 1 noscript,loading,stale,fast,allow_busy 0 0 0", discard)
	register("watch -2 noscript,loading,stale,fast,allow_busy 1 -1 1", watch)
	register("unwatch 1 noscript,loading,stale,fast,allow_busy 0 0 0", unwatch)
}

func multi(c *call) {
	if c.s.multi {
		c.err("ERR MULTI calls can not be nested")
		return
	}
	c.s.multi = true
	c.ok()
}

func discard(c *call) {
	if !c.s.multi {
		c.err("ERR DISCARD without MULTI")
		return
	}
	c.s.discard()
	c.ok()
}

func watch(c *call) {
	if c.s.multi {
		c.err("ERR WATCH inside MULTI is not allowed")
		return
	}
	for _, key := range c.args[1:] {
		c.s.watch(string(key), c.ms)
	}
	c.ok()
}

func unwatch(c *call) {
	c.s.unwatch()
	c.ok()
}

func execAll(c *call) {
	s := c.s
	if !s.multi {
		c.err("ERR EXEC without MULTI")
		return
	}
	queue, aborted, dirty := s.queue, s.aborted, s.dirty || s.watchedExpired(c.ms)
	s.discard()
	switch {
	case aborted:
		c.err(errExecAbort)
		return
	case dirty:
		c.nullArray()
		return
	}
	exec := *c
	exec.nested = true
	c.array(len(queue))
	for _, q := range queue {
		exec.cmd, exec.args = q.cmd, q.args
		exec.execute()
	}
}

// discard ends the transaction, and what was watched for it.
func (s *Session) discard() {
	s.multi, s.aborted, s.queue = false, false, nil
	s.unwatch()
}

// queues reports whether one of the commands of the transaction has the flag. If one is of
// channels, newer servers take all of its keys for channels.
func (s *Session) queues(flag string) bool {
	return s.multi && slices.ContainsFunc(s.queue, func(q queued) bool { return q.cmd.flags[flag] })
}

func (s *Session) watch(key string, ms int64) {
	if slices.ContainsFunc(s.watched, func(w watched) bool { return w.key == key }) {
		return
	}
	e := s.n.keys[key]
	s.watched = append(s.watched, watched{key, e != nil && e.expired(ms)})
	s.n.watchers[key] = append(s.n.watchers[key], s)
}

func (s *Session) unwatch() {
	for _, w := range s.watched {
		left := slices.DeleteFunc(s.n.watchers[w.key], func(other *Session) bool { return other == s })
		if len(left) == 0 {
			delete(s.n.watchers, w.key)
		} else {
			s.n.watchers[w.key] = left
		}
	}
	s.watched, s.dirty = nil, false
}

// buries is told that a watched key was deleted, and reports whether its time was
// over when WATCH came, so that nothing has changed.
func (s *Session) buries(key string) bool {
	i := slices.IndexFunc(s.watched, func(w watched) bool { return w.key == key })
	known := s.watched[i].expired
	s.watched[i].expired = false
	return known
}

// watchedExpired reports whether a watched key's time is over that was not when
// WATCH came.
func (s *Session) watchedExpired(ms int64) bool {
	return slices.ContainsFunc(s.watched, func(w watched) bool {
		e := s.n.keys[w.key]
		return !w.expired && e != nil && e.expired(ms)
	})
}
