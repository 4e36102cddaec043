package counter

import (
	"errors"
	"fmt"

	redislanes "github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/pipeline"
)

// Read reads the replies of a round. If it returns true, the take goes on: Append and Do again.
// Otherwise the take has its outcome.
func (s *Server) Read(t *Take) (again bool) {
	s.readProbe(t)
	if t.created {
		t.created, t.Doubt = false, t.expire.Err() != nil
	}
	at := t.step
	t.step = start
	switch at {
	case look:
		if used, before, err := t.totals(); err != nil {
			t.fail(err)
		} else {
			t.hear(used, before)
			t.end(true)
		}
	case set:
		s.readSet(t)
	case incr:
		s.readIncr(t)
	case increx:
		s.readIncrex(t)
	case script:
		s.readScript(t)
	case back, backBy:
		s.readBack(t, at)
	case mend:
		t.end(true)
	}
	return t.step != start
}

// readSet reads SET NX GET, which replies with the value of a key that is there.
func (s *Server) readSet(t *Take) {
	used, before, err := t.totals()
	switch f := fateOf(t.main.Err()); {
	case t.main.IsNull():
		t.Doubt = false
		s.counted(t, t.N, before, err)
	case err == nil:
		t.hear(used, before)
		t.exact = t.Used == 0
		s.again(t)
		t.created = t.step == incr // the process that has created the key may have ended before its EXPIRE
	case f == fate.Syntax:
		s.noSetGet.Store(true)
		t.step = s.count(t)
	case f == fate.NoPermission && s.increx.Load() == has:
		t.step = increx
	default:
		t.fail(err)
	}
}

func (s *Server) readIncr(t *Take) {
	used, before, err := t.totals()
	switch main := t.main.Err(); {
	case main == nil:
		t.created = used < plus(t.Used, t.N) // the key was lost, or hits were given back
		s.counted(t, used, before, err)
	case fateOf(main) == fate.Overflow: // somebody has set the key
		t.step = script
	default:
		t.Doubt = t.Doubt || errors.Is(main, redislanes.ErrUnknownOutcome)
		t.fail(main)
	}
}

// counted notes hits that are counted, and gives them back if they do not fit, or if the window before could not
// be read.
func (s *Server) counted(t *Take, used, before int64, err error) {
	t.failed = err
	t.hear(max(used, t.N), before)
	switch {
	case err != nil || t.over():
		t.step = s.back()
	case t.created:
		t.step = mend
	default:
		t.end(true)
	}
}

func (s *Server) readIncrex(t *Take) {
	numbers, err := t.read(t.main, 2)
	if unsupported(err) { // a failover to an older server
		s.increx.Store(lacks)
		t.step = s.first(t)
		return
	}
	if err != nil {
		t.fail(err)
		return
	}
	told := t.UsedBefore
	before, err := t.totalBefore()
	switch {
	case numbers[1] != 0:
		t.Doubt = false
		s.counted(t, numbers[0], before, err)
	case err != nil:
		t.fail(err)
	default:
		t.hear(numbers[0], before)
		s.denied(t, told)
	}
}

func (s *Server) readScript(t *Take) {
	numbers, err := t.read(t.main, 3)
	if err != nil {
		t.fail(err)
		return
	}
	if numbers[1] != 0 {
		t.Doubt = false
		s.counted(t, numbers[0], numbers[2], nil)
		return
	}
	told := t.UsedBefore
	t.hear(numbers[0], numbers[2])
	s.denied(t, told)
}

// denied ends a take that the server has denied, unless it was told another total of the window before.
func (s *Server) denied(t *Take, told int64) {
	if t.exact = true; t.UsedBefore != told {
		s.again(t)
		return
	}
	t.end(false)
}

// readBack reads how hits were given back: those of this take, or of another.
func (s *Server) readBack(t *Take, at step) {
	numbers, err := t.read(t.main, 2)
	if at == back && unsupported(err) {
		s.increx.Store(lacks)
		t.step = backBy
		return
	}
	if err == nil {
		before, failed := t.totalBefore()
		if failed != nil {
			before = t.UsedBefore
		}
		t.hear(numbers[0], before)
	}
	switch {
	case t.N < 0 && err != nil:
		t.fail(err)
	case t.N < 0:
		t.end(numbers[1] != 0)
	case err != nil:
		t.Lost = t.N
		t.end(false)
		t.Err = t.failed
	case t.failed != nil:
		t.fail(t.failed)
	default:
		t.exact = true
		s.again(t)
	}
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

// read returns the numbers of a reply. There must be n.
func (t *Take) read(r pipeline.Reply, n int) ([]int64, error) {
	t.numbers = t.numbers[:0]
	err := r.Into(&t.numbers)
	if err == nil && len(t.numbers) != n {
		err = fmt.Errorf("limit: a reply has %d numbers, want %d", len(t.numbers), n)
	}
	return t.numbers, err
}
