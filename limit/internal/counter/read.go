package counter

import (
	"fmt"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/pipeline"
)

// Read reads the replies of a round. If it returns true, the take goes on: Append and Do again.
// Otherwise the take has its outcome.
func (s *Server) Read(t *Take) (again bool) {
	at := t.step
	t.step = start
	switch at {
	case look:
		if used, before, err := t.totals(); err != nil {
			t.fail(err)
		} else {
			t.hear(used, before)
			t.Applied = true
		}
	case set:
		s.readSet(t)
	case incr:
		s.readIncr(t)
	case increx, script:
		s.readFitting(t, at)
	case mend:
		t.Known, t.Applied = t.expire.Err() == nil, t.Err == nil
	}
	return t.step != start
}

// readSet reads SET NX GET, which replies with the value of a key that is there.
func (s *Server) readSet(t *Take) {
	used, before, err := t.totals()
	switch f, _ := cause.FateOf(t.main.Err()); {
	case f == fate.Syntax:
		s.noSetGet.Store(true)
		t.step = script
	case err != nil:
		t.fail(err)
	case t.main.IsNull():
		t.Known = true
		s.counted(t, t.n, before)
	default:
		if t.hear(used, before); t.far() {
			t.step = incr
		} else {
			t.try(script)
		}
	}
}

func (s *Server) readIncr(t *Take) {
	used, err := t.main.Int()
	if err != nil {
		t.fail(err)
		return
	}
	if t.Known {
		t.Known = used >= t.Used+t.n // otherwise the key was lost, or hits were given back
	} else {
		t.Known = t.expire.Err() == nil
	}
	before, err := t.totalBefore()
	switch t.Err = err; {
	case err == nil:
		s.counted(t, used, before)
	case !t.Known:
		t.step = mend
	}
}

// counted notes hits that are counted, and gives them back if they do not fit.
func (s *Server) counted(t *Take, used, before int64) {
	t.hear(max(used, t.n), before)
	switch {
	case t.room() < 0:
		t.n = -t.n
		t.step = s.first(t)
	case !t.Known:
		t.step = mend
	default:
		t.Applied = true
	}
}

// readFitting reads the reply of INCREX or of the script.
func (s *Server) readFitting(t *Take, at step) {
	numbers, before, err := t.fitting(at)
	told := t.UsedBefore
	switch {
	case at == increx && !s.noteIncrex(t.main.Err()):
		t.step = s.first(t)
	case err != nil && t.n != t.N: // hits that went over stay counted
	case err != nil:
		t.fail(err)
	case t.n > 0 && numbers[1] != 0:
		t.Known = true
		s.counted(t, numbers[0], before)
	default:
		t.hear(numbers[0], before)
		switch {
		case t.N < 0:
			t.Applied = numbers[1] != 0
		case t.n < 0: // they went over, beside hits that others may have given back meanwhile
			t.n = t.N
			t.try(script)
		case before != told: // the hits were denied by an old word
			t.try(at)
		}
	}
}

// fitting returns the total and whether the hits are counted, and the total before.
func (t *Take) fitting(at step) (numbers []int64, before int64, err error) {
	t.numbers = t.memory[:0]
	if err = t.main.Into(&t.numbers); err != nil {
		return nil, 0, err
	}
	numbers = t.numbers
	switch {
	case at == script && len(numbers) == 3:
		return numbers, numbers[2], nil
	case at == increx && len(numbers) == 2:
		before, err = t.totalBefore()
		return numbers, before, err
	}
	return nil, 0, fmt.Errorf("limit: a reply has %d numbers", len(numbers))
}

// totals reads the totals of both windows.
func (t *Take) totals() (used, before int64, err error) {
	if used, err = value(t.main); err == nil {
		before, err = t.totalBefore()
	}
	return used, before, err
}

func (t *Take) totalBefore() (int64, error) {
	if t.Before == "" {
		return 0, nil
	}
	return value(t.before)
}

// value returns the number that a key holds, 0 if there is no key.
func value(r pipeline.Reply) (int64, error) {
	if r.IsNull() {
		return 0, nil
	}
	return r.Int()
}
