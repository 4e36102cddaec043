package places

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/setting"
	"github.com/redislanes/redislanes/pipeline"
)

// Config is the settings of a [Semaphore]. Name and Max have no default.
type Config struct {
	// Name identifies the semaphore in keys, errors and metrics: 1 to 64 letters, digits, dots,
	// underscores and hyphens. Semaphores of one name share their places.
	Name string

	// Max is how many holders a key may have at a time, 1 to 1,000,000.
	Max int64

	// TTL is how long the place of a holder stays taken after its process has died. A holder
	// that lives is renewed after a third of it. Default 10 s; 1 s to an hour.
	TTL time.Duration

	// FailClosed denies an Acquire that Redis cannot decide now. By default it is allowed,
	// without a place.
	FailClosed bool

	// Prefix is the beginning of all keys. Default "limit:". Keys are <prefix><name>:HELD:<key>.
	Prefix string

	// Budget is how long a call may take if its context does not end earlier. Default 100 ms;
	// 1 ms to an hour.
	Budget time.Duration

	// Observer, if not nil, is called with all decisions. limitmetrics.New makes one for
	// Prometheus.
	Observer Observer
}

// An Observer is called with what becomes of places. Many goroutines call it. It must be quick and
// must not block. If it panics, the client logs that, and the semaphore goes on.
type Observer interface {
	// Acquired is called at the end of each Acquire.
	Acquired(took time.Duration, s *Semaphore, d Decision)

	// Ended is called when a place was released or lost. Close waits for it.
	Ended(s *Semaphore, lost bool)
}

const (
	defaultBudget = 100 * time.Millisecond
	mostBudget    = time.Hour
	defaultTTL    = 10 * time.Second
	leastTTL      = time.Second
	mostTTL       = time.Hour
	mostHolders   = 1_000_000
	longestName   = 64

	// pause is the time before a denied Acquire may be tried again, and giving a place back.
	pause = time.Second
)

// New returns a semaphore in the client's cluster, or an error that names the setting that cannot
// be used. It sends nothing. Close the semaphore before the client.
func (c Config) New(client *cluster.Client) (*Semaphore, error) {
	if !(*engine.Client)(client).Made() {
		return nil, errors.New("places: the client was not made with cluster.Config.New: use one that it returned without an error")
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.TTL, c.Budget, c.Prefix = cmp.Or(c.TTL, defaultTTL), cmp.Or(c.Budget, defaultBudget), cmp.Or(c.Prefix, "limit:")
	s := &Semaphore{
		cfg: c, client: (*engine.Client)(client),
		head: c.Prefix + c.Name + ":HELD:", // no rate limit has such keys: the number of its window has no capitals
		args: [2]string{strconv.FormatInt(c.Max, 10), strconv.FormatInt(c.TTL.Milliseconds(), 10)},
	}
	s.pipes.New = func() any { return pipeline.New(client) }
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

func (c Config) validate() error {
	name := strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
	if c.Name == "" || len(c.Name) > longestName || name != "" {
		return fmt.Errorf("places: Config.Name = %q: want 1 to %d letters, digits, dots, underscores and hyphens", c.Name, longestName)
	}
	if c.Max < 1 || c.Max > mostHolders {
		return fmt.Errorf("places: Config.Max = %d: must be 1 to %d", c.Max, mostHolders)
	}
	if err := setting.Duration("places: Config.TTL", c.TTL, leastTTL, mostTTL, ""); err != nil {
		return err
	}
	return setting.Duration("places: Config.Budget", c.Budget, setting.Least, mostBudget, "")
}
