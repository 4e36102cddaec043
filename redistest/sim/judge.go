package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Calls remembers the calls of a program, and judges them when all have ended. Each call counts one hit or pushes one
// id. A judgement names the key, the call, and the faults of Trouble or Replay in force during the call, or else the
// last one before it. Methods are safe for concurrent use.
type Calls struct {
	c      *Cluster
	mu     sync.Mutex // guards what follows
	once   int
	events int64              // how often a call began or ended
	keys   map[string][]*Call // in the order in which they began
}

// A Call is one call. [Calls.Once] and [Calls.Begin] make it.
type Call struct {
	Key string

	calls        *Calls
	command      []any
	reply        []any
	began, ended time.Time // ended is zero meanwhile
	first, last  int64     // its events, for times can be equal; last is math.MaxInt64 unless the call ended with ok
	client       int       // in a history
	ok           bool
}

// NewCalls returns a record of calls to the cluster.
func NewCalls(c *Cluster) *Calls { return &Calls{c: c, keys: make(map[string][]*Call)} }

// Once begins a call with a key of its own: the prefix and a number. A hit that counts twice always shows at such a
// key. At a key of many calls, a call that did not count hides it.
func (c *Calls) Once(prefix string) *Call {
	c.mu.Lock()
	c.once++
	key := prefix + strconv.Itoa(c.once)
	c.mu.Unlock()
	return c.Begin(key)
}

// Begin begins a call with a key that other calls may have, too. The command is what the call sends. [Calls.Lists] and
// [Calls.History] need it.
func (c *Calls) Begin(key string, command ...any) *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events++
	call := &Call{Key: key, calls: c, command: command, began: time.Now(), first: c.events, last: math.MaxInt64}
	c.keys[key] = append(c.keys[key], call)
	return call
}

// End ends the call. ok says whether the program was told that it counted, or that it is allowed. The reply is what the
// program was told. [Calls.History] needs it.
func (c *Call) End(ok bool, reply ...any) {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	c.calls.events++
	if c.ended, c.ok = time.Now(), ok; ok {
		c.last, c.reply = c.calls.events, reply
	}
}

// Counters returns an error if the number at a key is above that of its calls, or below that of the calls that ended
// with ok. [Cluster.LostWrites] excuses the latter.
func (c *Calls) Counters() error {
	return c.judge(func(key string, calls []*Call) (*Call, string) {
		text, _ := c.c.Value(key)
		value, _ := strconv.Atoi(text)
		return c.compare("hits", value, calls)
	})
}

// Lists returns an error if the list at a key has an id more often than calls pushed it, or less often than such calls
// ended with ok. [Cluster.LostWrites] excuses the latter. The id is the last argument of the call's command, as
// [fmt.Sprint] has it. Nothing may be taken from the list.
func (c *Calls) Lists() error {
	return c.judge(func(key string, calls []*Call) (*Call, string) {
		found, pushed := make(map[string]int), make(map[string][]*Call)
		for _, call := range calls {
			id := fmt.Sprint(call.command[max(0, len(call.command)-1):]...)
			pushed[id] = append(pushed[id], call)
		}
		for _, id := range c.c.model.List(key) {
			if found[string(id)]++; pushed[string(id)] == nil {
				return nil, fmt.Sprintf("%q is in the list, and no call pushed it", id)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(pushed)) {
			if call, what := c.compare(fmt.Sprintf("pushes of %q", id), found[id], pushed[id]); call != nil {
				return call, what
			}
		}
		return nil, ""
	})
}

// compare returns the last call that may be wrong if more of something was counted than there were calls, or less than
// calls that ended with ok, and says so.
func (c *Calls) compare(what string, counted int, calls []*Call) (*Call, string) {
	ok, last := 0, map[bool]*Call{false: calls[0]} // with ok and without
	for _, call := range calls {
		if last[call.ok] = call; call.ok {
			ok++
		}
	}
	switch {
	case counted > len(calls):
		return last[false], fmt.Sprintf("%d %s were counted in %d calls", counted, what, len(calls))
	case counted < ok && !c.c.LostWrites(calls[0].Key):
		return last[true], fmt.Sprintf("%d %s were counted, and %d calls ended with ok", counted, what, ok)
	}
	return nil, ""
}

// Limit returns an error if more calls of a key than the limit were allowed within a window, wherever it begins: they
// began and ended in it. Fixed windows allow twice their limit. Lost writes are not excused.
func (c *Calls) Limit(limit int, window time.Duration) error {
	return c.judge(func(_ string, calls []*Call) (*Call, string) {
		for i, first := range calls {
			allowed := 0
			for _, call := range calls[i:] {
				if call.ok && call.ended.Before(first.began.Add(window)) {
					allowed++
				}
				if allowed > limit {
					return call, fmt.Sprintf("%d calls were allowed within %v, the limit is %d", allowed, call.ended.Sub(first.began), limit)
				}
			}
		}
		return nil, ""
	})
}

// judge returns an error that names the first call that the rule finds, if it is one, and what the rule says.
func (c *Calls) judge(rule func(key string, calls []*Call) (*Call, string)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(c.keys)) {
		call, what := rule(key, c.keys[key])
		switch {
		case what == "":
			continue
		case call == nil:
			return fmt.Errorf("sim: %s: %s", key, what)
		}
		took, end := "did not end", time.Now()
		if !call.ended.IsZero() {
			took, end = fmt.Sprintf("took %v, ok=%v", call.ended.Sub(call.began), call.ok), call.ended
		}
		return fmt.Errorf("sim: %s: %s: call %d %s%s", key, what, 1+slices.Index(c.keys[key], call), took, c.c.during(call, end))
	}
	return nil
}

// during names the faults in force during the call, or else the last one before it.
func (c *Cluster) during(call *Call, end time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, during := "", ""
	for _, m := range c.made {
		switch {
		case !m.at.Before(end):
		case m.at.Add(m.For).Before(call.began):
			before = "\n  before it: " + m.String()
		default:
			during += "\n  meanwhile: " + m.String()
		}
	}
	return cmp.Or(during, before)
}
