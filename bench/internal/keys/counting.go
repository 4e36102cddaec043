package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// ErrUnexpected says that a reply is not what the request must get.
var ErrUnexpected = errors.New("unexpected reply")

// TTL is that of each key.
const TTL = time.Minute

// A Counter sends the requests of one caller of a rate limiter.
type Counter struct {
	Pipeline *pipeline.Pipeline
	totals   []pipeline.Reply
}

// Count sends INCRBY and EXPIRE for each key, and checks every reply.
func (c *Counter) Count(ctx context.Context, keys []string) error {
	c.Pipeline.Reset()
	c.totals = c.totals[:0]
	for _, key := range keys {
		c.totals = append(c.totals, c.Pipeline.IncrBy(key, 1))
		c.Pipeline.Expire(key, TTL)
	}
	if err := c.Pipeline.Do(ctx); err != nil {
		return err
	}
	for _, total := range c.totals {
		if n, err := total.Int(); err != nil {
			return err
		} else if n < 1 {
			return fmt.Errorf("%w: total %d after INCRBY 1", ErrUnexpected, n)
		}
	}
	return nil
}
