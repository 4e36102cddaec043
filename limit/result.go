package limit

// refused denies all requests because of a mistake.
func refused(requests []Request, err error) Result {
	r := Result{Decision: Decision{Err: err, mistake: true}, Decisions: make([]Decision, len(requests))}
	for i := range r.Decisions {
		r.Decisions[i] = r.Decision
	}
	return r
}

// fail decides all without Redis.
func (c *call) fail(l *Limiter, err error) {
	for i := range c.asks {
		a, d := &c.asks[i], &c.each[i]
		if d.RetryAfter == 0 && (a.kind == kindCharge || !c.denied) {
			a.without(l, d, err, c.now)
		}
	}
	for i := range c.asks {
		c.denied = c.denied || !c.each[i].Allowed && !c.asks[i].limit.rule.Shadow
	}
}

// result chooses the decision that says most.
func (c *call) result() Result {
	var r Result
	var first error
	chosen := -1
	for i := range c.each {
		d := &c.each[i]
		d.other = c.denied && d.Allowed
		a := &c.asks[i]
		if a.limit != nil {
			d.warn(&a.limit.rule)
		}
		switch {
		case a.limit != nil && a.limit.rule.Shadow, c.denied && d.Allowed:
			continue
		case !d.Allowed && d.Err == nil && d.RetryAfter == 0: // the call was denied before it was asked about
			continue
		}
		if d.Err != nil && first == nil {
			first = d.Err
		}
		if chosen < 0 || d.saysMore(&c.each[chosen]) {
			chosen = i
		}
	}
	if chosen >= 0 {
		r.Decision = c.each[chosen]
	}
	if r.Allowed = !c.denied; r.Allowed {
		r.Err = first
	}
	switch {
	case len(c.each) != 1:
		r.Decisions = c.each
	case chosen < 0: // of a limit in the shadow
		r.Decisions = []Decision{c.one[0]}
	}
	return r
}

// saysMore reports whether d says more about a call than e. Both are decisions of that call, and
// both are allowed or denied.
func (d *Decision) saysMore(e *Decision) bool {
	switch {
	case d.mistake || e.mistake:
		return d.mistake && !e.mistake
	case d.RetryAfter != e.RetryAfter:
		return d.RetryAfter > e.RetryAfter
	case (d.Err == nil) != (e.Err == nil):
		return d.Err == nil
	}
	return d.Remaining < e.Remaining
}
