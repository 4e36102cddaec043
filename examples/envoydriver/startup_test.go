package envoydriver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
)

var errRefused = errors.New("refused")

// TestStartupRetries: the number of tries, and between which times the last one is.
func TestStartupRetries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		startup   *Startup
		succeeds  int // the try that does; 0 for none
		within    time.Duration
		tries     int
		least     time.Duration
		most      time.Duration
		cancelled bool
	}{
		"no startup":          {startup: nil, tries: 1},
		"at once":             {startup: &Startup{}, succeeds: 1, tries: 1},
		"defaults, doubled":   {startup: &Startup{}, succeeds: 5, tries: 5, least: 750 * time.Millisecond, most: 1500 * time.Millisecond},
		"longest wait":        {startup: &Startup{MaxInterval: 100 * time.Millisecond}, succeeds: 11, tries: 11, least: 500 * time.Millisecond, most: time.Second},
		"first wait too long": {startup: &Startup{InitialInterval: time.Hour, MaxInterval: time.Second}, succeeds: 2, tries: 2, least: 500 * time.Millisecond, most: time.Second},
		"time is over": {startup: &Startup{InitialInterval: time.Second, MaxElapsedTime: time.Millisecond},
			tries: 2, least: 500 * time.Millisecond, most: time.Second},
		"context ends": {startup: &Startup{InitialInterval: time.Hour, MaxInterval: time.Hour}, within: time.Minute,
			tries: 1, least: time.Minute, most: time.Minute, cancelled: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.within)
					defer cancel()
				}
				tries, began := 0, time.Now()
				err := c.startup.retry(ctx, slog.New(slog.DiscardHandler), func() error {
					if tries++; tries == c.succeeds {
						return nil
					}
					return errRefused
				})
				if c.succeeds > 0 {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, errRefused)
				}
				require.Equal(t, c.cancelled, errors.Is(err, context.DeadlineExceeded))
				require.Equal(t, c.tries, tries)
				require.GreaterOrEqual(t, time.Since(began), c.least)
				require.LessOrEqual(t, time.Since(began), c.most)
			})
		})
	}
}

// TestStartup: New waits for a server that is not there yet, and says so; the service
// is told that it is healthy only then.
func TestStartup(t *testing.T) {
	t.Parallel()
	s := servers.StartServer(t, servers.Options{})
	require.NoError(t, s.Nodes()[0].Kill())
	log, to := io.Pipe()
	o := Options{
		Type: "SINGLE", URL: s.Addrs()[0], Startup: &Startup{InitialInterval: time.Millisecond, MaxInterval: time.Millisecond},
		Logger: slog.New(slog.NewTextHandler(to, nil)),
	}
	l := listen(&o)
	connected := make(chan error, 1)
	go func() {
		client, err := New(servers.Within(t, patience), o)
		if err == nil {
			_, err = hit(client, []string{"a"}, 1)
			err = errors.Join(err, client.Close())
		}
		connected <- err
	}()
	line, err := bufio.NewReader(log).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "trying again")
	require.NoError(t, log.Close()) // nobody reads further lines
	require.Empty(t, l.health)
	require.NoError(t, s.Nodes()[0].Restart(servers.Within(t, patience)))
	require.NoError(t, <-connected)
	l.requireHealth(t, true)
}

// TestContext: a request whose context has ended counts nothing.
func TestContext(t *testing.T) {
	t.Parallel()
	client := connect(t, Options{Type: "SINGLE", URL: servers.StartServer(t, servers.Options{}).Addrs()[0]})
	var total uint64
	p := client.PipeAppend(nil, &total, "INCRBY", "a", 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err := client.PipeDo(ended, p)
	requireRedisError(t, err, "")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.NoError(t, client.PipeDo(t.Context(), p))
	require.EqualValues(t, 1, total)
}
