package counter

import (
	"strconv"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// Append appends the commands of the take's next round. Read must follow, also if they were not sent.
func (s *Server) Append(p *pipeline.Pipeline, t *Take) {
	if t.step == start {
		t.Applied, t.Total, t.TotalBefore, t.Lost, t.Err = false, 0, 0, 0, nil
		t.created, t.exact, t.check, t.tries, t.failed = false, false, t.Doubt || !t.Known, 0, nil
		if t.N > 0 {
			s.appendProbe(p, t)
		}
		t.step = s.first(t)
	}
	switch t.step {
	case look:
		t.main = p.Cmd("GET", t.Key)
		t.appendBefore(p)
	case set:
		t.main = p.Cmd("SET", t.Key, t.N, "EX", t.seconds(), "NX", "GET")
		t.appendBefore(p)
	case incr:
		t.main = p.IncrBy(t.Key, t.N)
		t.appendBefore(p)
	case increx:
		t.main = p.Cmd("INCREX", t.Key, "BYINT", t.N, "UBOUND", t.Bound-min(t.Bound, t.share(t.UsedBefore)), "EX", t.seconds(), "ENX")
		t.appendBefore(p)
	case script:
		t.appendScript(p)
	case back:
		t.appendBefore(p)
		t.main = p.Cmd("INCREX", t.Key, "BYINT", -t.hits(), "LBOUND", 0)
	case backBy:
		t.appendBefore(p) // a command behind the script would have it sent by EVAL
		t.main = p.Eval(backScript, []string{t.Key}, strconv.FormatInt(t.hits(), 10)).Fast()
	}
	if t.created {
		if t.step == incr {
			t.expire = p.ExpireNX(t.Key, t.ttl())
		} else {
			t.expire = p.Expire(t.Key, t.ttl())
		}
	}
}

func (t *Take) appendBefore(p *pipeline.Pipeline) {
	if t.Before != "" {
		t.before = p.Cmd("GET", t.Before)
	}
}

// first returns the first step of a take.
func (s *Server) first(t *Take) step {
	switch {
	case t.N == 0:
		return look
	case t.N < 0:
		return s.back()
	}
	return s.count(t)
}

// count returns how hits are counted, by the last word. Where nothing is known of a sliding window, a single hit
// may be counted before the window before is read: if it does not fit, no hit does, so it is in nobody's way.
func (s *Server) count(t *Take) step {
	blind := !t.Known && t.Before != "" && t.N > 1
	switch {
	case s.increx.Load() == has && !blind:
		return increx
	case t.exact || t.Known && t.Doubt || blind || t.N > t.Bound:
		return script
	case (!t.Known || t.Used == 0) && (t.Before == "" || t.N == 1) && !s.noSetGet.Load():
		return set
	case t.Known && t.Used > 0 && t.N <= t.room()/far:
		return incr
	}
	return script
}

// again has hits tried again that fit by the last word, which is new.
func (s *Server) again(t *Take) {
	if t.tries++; t.N > t.room() || t.tries == mostTries {
		t.end(false)
		return
	}
	t.step = s.count(t)
}

func (s *Server) back() step {
	if s.increx.Load() == has {
		return back
	}
	return backBy
}

// hits returns how many hits are given back.
func (t *Take) hits() int64 { return max(t.N, -t.N) }

func (t *Take) ttl() time.Duration { return max(t.TTL.Truncate(time.Second), time.Second) }

func (t *Take) seconds() int64 { return int64(t.ttl() / time.Second) }
