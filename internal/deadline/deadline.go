package deadline

import (
	"context"
	"sync"
	"time"
)

// A Context is a context that ends at a deadline and not before.
type Context struct {
	context.Context // for its values

	at    time.Time
	done  chan struct{}
	timer *time.Timer
}

// Deadline is part of context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.at, true }

// Done is part of context.Context.
func (c *Context) Done() <-chan struct{} { return c.done }

// Err is part of context.Context.
func (c *Context) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func (c *Context) expire() { close(c.done) }

// Contexts are contexts that are not in use. The zero value works. All methods are
// safe for concurrent use.
type Contexts struct {
	free sync.Pool // of *Context
}

// Begin returns a context with the values of parent that ends at the deadline. The
// end of parent is not heeded: it should have none, or a later one. End must be called
// when nothing uses the context any more.
func (p *Contexts) Begin(parent context.Context, at time.Time) *Context {
	left := time.Until(at)
	if left <= 0 { // at once, and not in a moment
		c := &Context{Context: parent, at: at, done: make(chan struct{})}
		c.expire()
		return c
	}
	c, _ := p.free.Get().(*Context)
	if c == nil {
		c = &Context{Context: parent, at: at, done: make(chan struct{})}
		c.timer = time.AfterFunc(left, c.expire)
		return c
	}
	c.Context, c.at = parent, at
	c.timer.Reset(left)
	return c
}

// End gives the context back. One whose deadline has passed is not used again.
func (p *Contexts) End(c *Context) {
	if c.timer == nil || !c.timer.Stop() {
		return
	}
	c.Context = context.Background()
	p.free.Put(c)
}
