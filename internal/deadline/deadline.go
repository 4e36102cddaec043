// Package deadline has contexts with a deadline that are used again and again, for
// calls that have a budget of their own and must not allocate.
package deadline

import (
	"context"
	"sync"
	"time"
)

// A Context is a context that ends at a deadline, or with the one it is made from.
type Context struct {
	context.Context // the one that it is made from

	at    time.Time
	done  chan struct{}
	timer *time.Timer

	mu     sync.Mutex  // guards what follows
	cause  error       // why it has ended
	unlink func() bool // set if somebody waits for done alone, and the outer one can end
}

// Deadline is part of context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.at, true }

// Done is part of context.Context. If the outer context can be cancelled, the first
// call registers with it, which allocates: see [Channels].
func (c *Context) Done() <-chan struct{} {
	if c.Context.Done() != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.unlink == nil && c.cause == nil {
			c.unlink = context.AfterFunc(c.Context, func() { _ = c.end(c.Context.Err()) })
		}
	}
	return c.done
}

// Err is part of context.Context.
func (c *Context) Err() error {
	select {
	case <-c.done:
		return c.cause
	default:
	}
	if err := c.Context.Err(); err != nil {
		return c.end(err)
	}
	return nil
}

// end ends the context, if it has not ended, and returns why it has.
func (c *Context) end(cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
		close(c.done)
	}
	return c.cause
}

func (c *Context) expire() { _ = c.end(context.DeadlineExceeded) }

// Channels returns channels of which one is closed when the context ends. Nil channels are never closed.
// To wait for both costs no registration with the outer context of a [Context].
func Channels(ctx context.Context) (own, outer <-chan struct{}) {
	if c, ok := ctx.(*Context); ok {
		return c.done, c.Context.Done()
	}
	return ctx.Done(), nil
}

// Outer returns the context that ctx is made from, if it is a [Context], and ctx itself if not. Functions of
// the program may keep that one: a Context is used again.
func Outer(ctx context.Context) context.Context {
	for {
		c, ok := ctx.(*Context)
		if !ok {
			return ctx
		}
		ctx = c.Context
	}
}

// Contexts are contexts that are not in use. The zero value works. All methods are
// safe for concurrent use.
type Contexts struct {
	free sync.Pool // of *Context
}

// Begin returns a context with the values of outer that ends at the deadline, or
// when outer ends. End must be called when nothing uses the context any more.
func (p *Contexts) Begin(outer context.Context, at time.Time) *Context {
	if end, ok := outer.Deadline(); ok && end.Before(at) {
		at = end // readers go by it
	}
	c, _ := p.free.Get().(*Context)
	if c == nil {
		c = &Context{done: make(chan struct{})}
	}
	c.Context, c.at = outer, at
	if left := time.Until(at); left <= 0 { // at once, and not in a moment
		c.expire()
	} else if c.timer == nil {
		c.timer = time.AfterFunc(left, c.expire)
	} else {
		c.timer.Reset(left)
	}
	return c
}

// End gives the context back. One that has ended is not used again.
func (p *Contexts) End(c *Context) {
	stopped := c.timer != nil && c.timer.Stop()
	if ended := c.ended(); ended || !stopped {
		return
	}
	c.Context = context.Background()
	p.free.Put(c)
}

// ended reports whether the context has ended, or is about to. After that the outer
// one does not end it any more.
func (c *Context) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	linked := c.unlink != nil && !c.unlink()
	c.unlink = nil
	return linked || c.cause != nil
}
