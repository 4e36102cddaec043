package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Calls remembers the calls of a program, each of which counts one hit, and judges them when all have ended. A
// judgement names the key, the call, and the faults of Trouble or Replay in force during the call, or else the last one
// before it. Methods are safe for concurrent use.
type Calls struct {
	c    *Cluster
	mu   sync.Mutex // guards what follows
	once int
	keys map[string][]*Call
}

// A Call is one call. [Calls.Once] and [Calls.Begin] make it.
type Call struct {
	Key string

	calls        *Calls
	began, ended time.Time // ended is zero meanwhile
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

// Begin begins a call with a key that other calls may have, too.
func (c *Calls) Begin(key string) *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := &Call{Key: key, calls: c, began: time.Now()}
	c.keys[key] = append(c.keys[key], call)
	return call
}

// End ends the call. ok says whether the program was told that it counted, or that it is allowed.
func (c *Call) End(ok bool) {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	c.ended, c.ok = time.Now(), ok
}

// Counters returns an error if the number at a key is above that of its calls, or below that of the calls that ended
// with ok. [Cluster.LostWrites] excuses the latter.
func (c *Calls) Counters() error {
	return c.judge(func(key string, calls []*Call) (*Call, string) {
		text, _ := c.c.Value(key)
		value, _ := strconv.Atoi(text)
		ok, last := 0, map[bool]*Call{false: calls[0]} // with ok and without
		for _, call := range calls {
			if last[call.ok] = call; call.ok {
				ok++
			}
		}
		switch {
		case value > len(calls):
			return last[false], fmt.Sprintf("%d hits were counted in %d calls", value, len(calls))
		case value < ok && !c.c.LostWrites(key):
			return last[true], fmt.Sprintf("%d hits were counted, and %d calls ended with ok", value, ok)
		}
		return nil, ""
	})
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

// judge returns an error that names the first call that the rule finds, and what the rule says.
func (c *Calls) judge(rule func(key string, calls []*Call) (*Call, string)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(c.keys)) {
		call, what := rule(key, c.keys[key])
		if call == nil {
			continue
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
